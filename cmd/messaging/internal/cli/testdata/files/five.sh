messaging sandbox mark five
send='messaging -p sandbox broadcast push --subject Five --message Times --to-customers two.csv'
digest=$($send --dry-run)
for i in 1 2 3 4 5; do
	(code=0; $send --confirm "$digest" || code=$?; echo "ended $code") &
done
wait

send='messaging -p sandbox broadcast push --subject Killed --message Today --to-customers two.csv'
digest=$($send --dry-run)
$send --confirm "$digest" &
while messaging sandbox fault list | grep -q slow; do :; done
kill -9 $!
wait $!
$send --confirm "$digest" || echo "ended $?"
messaging sends list --ndjson | grep '"delivery":"unknown"'
messaging sends resolve --not-carried-out "$(messaging sends list | tail -n 1 | cut -f 1)"
messaging sandbox mark
$send --confirm "$digest"

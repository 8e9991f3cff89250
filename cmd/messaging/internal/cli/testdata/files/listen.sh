rm -f out.txt && touch out.txt
messaging sandbox --listen 127.0.0.1 --api-port 0 --ui-port 0 "$@" >>out.txt &
until test "$(wc -l <out.txt)" -eq 3; do :; done
. ./out.txt
cat out.txt
if test "$#" -gt 0; then
	messaging sandbox env 2>/dev/null >/dev/null
	echo "refused $?"
	export MESSAGING_SANDBOX_TOKEN=$(cat token.txt)
	messaging sandbox reset
	echo "by variable $?"
	for to in '--to-customers ada.csv' --all-customers '--segments vip'; do
		push="messaging -p sandbox broadcast push --subject s --message m $to"
		test "$to" != '--segments vip' || messaging sandbox fault answer_lost
		$push --confirm "$($push --dry-run 2>/dev/null)" 2>/dev/null || true
	done
	messaging -p sandbox api GET /v1/ada@example.com 2>/dev/null || true
fi
kill $!
wait $! || true

printf CANARY-0123456789abcdef >config/messaging/key.txt
for command in doctor 'doctor --json' 'profile list --json' 'customer list' 'customer list --json' 'event trigger nothing --email a@b.test' \
	'broadcast push --subject s --message m --to-customers two.csv --dry-run'; do
	messaging -p live $command || true
done

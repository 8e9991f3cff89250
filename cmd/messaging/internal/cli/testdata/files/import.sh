import="messaging outbox import --ledger $1 --from $2 --key-column order --event"
$import 'order shipped' --confirm "$($import 'order shipped' --dry-run)"

package guard

// Directories of the product, and of killers.
const (
	linux     = "internal/sandbox/linux"
	initproc  = "internal/sandbox/linux/initproc"
	mounts    = "internal/sandbox/linux/mounts"
	seen      = "internal/sandbox/linux/seen"
	filter    = "internal/sandbox/linux/filter"
	cgroup    = "internal/sandbox/linux/cgroup"
	matrix    = "internal/sandbox/matrix"
	policy    = "internal/sandbox/policy"
	resolve   = "internal/sandbox/resolve"
	rootio    = "internal/sandbox/rootio"
	protect   = "internal/sandbox/guard"
	forward   = "internal/sandbox/forward"
	broker    = "internal/sandbox/broker"
	journal   = "internal/journal"
	statedir  = "internal/statedir"
	filetx    = "internal/agent/filetx"
	tool      = "internal/agent/tool"
	run       = "internal/agent/runtime"
	httpd     = "internal/agent/mcpserver/httpd"
	taskstore = "internal/agent/mcpserver/taskstore"

	ask      = "internal/relay/ask"
	rpc      = "internal/relay/rpc"
	history  = "internal/relay/history"
	ledger   = "internal/relay/ledger"
	recovery = "internal/relay/recovery"
	worker   = "internal/relay/worker"
	web      = "internal/relay/web"
	codex    = "internal/relay/codex"
)

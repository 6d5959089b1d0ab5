package arch

// rule is one row of the import table in docs/design/architecture.md. Paths are relative to the module; a trailing "/…"
// means the package and everything below it.
type rule struct {
	packages []string
	allow    []string // packages of this module that may be imported
	forbid   []string // other packages that may not be imported directly
	deep     bool     // forbid holds also through our own packages
	reason   string
}

// everywhere may be imported by every package.
var everywhere = []string{"internal/fault", "internal/redact", "internal/visible"}

var table = []rule{
	{
		packages: []string{"internal/fault", "internal/redact", "internal/strictjson", "internal/visible", "internal/fileop", "internal/proctree", "internal/wireout"},
		reason:   "the smallest rooms stand on nothing of this module, so that everything can stand on them",
	},
	{
		packages: []string{"internal/agent", "internal/sandbox", "internal/relay"},
		forbid:   []string{"os", "os/exec", "net", "syscall", "golang.org/x/sys/unix", "golang.org/x/sys/windows"},
		reason:   "a vocabulary is data: types that reach the operating system would tie every user to it",
	},
	{
		packages: []string{"internal/atomicfile", "internal/rolling"},
		allow:    []string{"internal/fileop"},
		reason:   "durable effects go through the one door that crash tests can wrap",
	},
	{
		packages: []string{"internal/locale", "internal/yamltree", "internal/journal", "internal/audit", "internal/statedir"},
		allow:    []string{"internal/fileop", "internal/atomicfile", "internal/rolling", "internal/strictjson", "internal/proctree", "internal/agent", "internal/sandbox"},
		reason:   "one small job each; they may know the vocabularies, never a room that decides or acts",
	},
	{
		packages: []string{"internal/agent/planner"},
		allow:    []string{"internal/strictjson", "internal/agent"},
		forbid:   []string{"os", "os/exec", "net", "syscall", "unsafe", "golang.org/x/sys/unix"},
		deep:     true,
		reason:   "planning is a pure function: the same plan gives the same order on every machine",
	},
	{
		packages: []string{"internal/sandbox/policy"},
		allow:    []string{"internal/strictjson", "internal/sandbox"},
		forbid:   []string{"os", "os/exec", "net", "syscall", "unsafe", "golang.org/x/sys/unix"},
		deep:     true,
		reason:   "a decision that reads the world could be raced; policy judges what was resolved already",
	},
	{
		packages: []string{"internal/sandbox/rootio", "internal/sandbox/resolve"},
		allow:    []string{"internal/sandbox", "internal/fileop", "internal/sandbox/rootio"},
		forbid:   []string{"os/exec", "net"},
		reason:   "files by descriptor only; a process or a socket has no place next to path resolution",
	},
	{
		packages: []string{"internal/sandbox/linux/…", "internal/sandbox/windows/…"},
		allow:    []string{"internal/sandbox", "internal/sandbox/resolve", "internal/sandbox/rootio", "internal/proctree", "internal/fileop", "internal/strictjson", "internal/sandbox/linux/…", "internal/sandbox/windows/…"},
		reason:   "a backend enforces what it is given; it neither decides nor keeps records",
	},
	{
		packages: []string{"internal/sandbox/host"},
		allow:    []string{"internal/sandbox", "internal/fileop", "internal/sandbox/linux", "internal/sandbox/windows"},
		reason:   "host picks the one backend of its GOOS and does nothing else",
	},
	{
		packages: []string{"internal/sandbox/forward"},
		allow:    []string{"internal/sandbox", "internal/audit"},
		forbid:   []string{"os/exec", "golang.org/x/sys/unix", "golang.org/x/sys/windows"},
		reason:   "it copies bytes between connections that it was given and addresses that were decided; it makes no listener and no decision",
	},
	{
		packages: []string{"internal/sandbox/broker"},
		allow:    []string{"internal/sandbox", "internal/sandbox/policy", "internal/sandbox/resolve", "internal/sandbox/rootio", "internal/sandbox/forward", "internal/sandbox/guard", "internal/journal", "internal/statedir", "internal/audit", "internal/fileop", "internal/strictjson"},
		forbid:   []string{"os/exec", "golang.org/x/sys/unix", "golang.org/x/sys/windows", "syscall"},
		reason:   "the broker orders effects and journals them; system calls belong to a backend",
	},
	{
		packages: []string{"internal/sandbox/guard"},
		allow:    []string{"internal/sandbox", "internal/sandbox/policy", "internal/sandbox/rootio", "internal/fileop", "internal/strictjson"},
		forbid:   []string{"os/exec", "net", "golang.org/x/sys/unix", "golang.org/x/sys/windows"},
		reason:   "a guard looks and moves by descriptor, through rootio and fileop; it mounts and starts nothing",
	},
	{
		packages: []string{"internal/sandbox/matrix"},
		allow:    []string{"internal/sandbox/…", "internal/fileop", "internal/audit"},
		reason:   "the security matrix judges any backend, whatever program is built on it",
	},
	{
		packages: []string{"internal/agent/filetx"},
		allow:    []string{"internal/agent", "internal/sandbox", "internal/sandbox/resolve", "internal/sandbox/rootio", "internal/journal", "internal/audit", "internal/fileop", "internal/strictjson"},
		forbid:   []string{"os/exec", "net", "golang.org/x/sys/unix", "golang.org/x/sys/windows"},
		reason:   "a file transaction changes files through descriptors that were judged, nothing else",
	},
	{
		packages: []string{"internal/agent/tool/schema", "internal/agent/tool/charset"},
		allow:    []string{"internal/agent", "internal/agent/tool/charset", "internal/strictjson"},
		forbid:   []string{"os", "os/exec", "net", "syscall", "unsafe", "golang.org/x/sys/unix"},
		deep:     true,
		reason:   "what arguments mean, and what bytes are text, does not depend on this machine",
	},
	{
		packages: []string{"internal/agent/tool"},
		allow:    []string{"internal/agent", "internal/agent/tool/…", "internal/agent/filetx", "internal/agent/planner", "internal/sandbox", "internal/sandbox/policy", "internal/sandbox/resolve", "internal/sandbox/rootio", "internal/audit", "internal/strictjson", "internal/locale"},
		forbid:   []string{"os/exec", "net", "net/http", "golang.org/x/sys/unix", "golang.org/x/sys/windows"},
		reason:   "a tool asks policy and acts through rootio, filetx or sandbox.Job; it can start no process itself",
	},
	{
		packages: []string{"internal/agent/ollama"},
		allow:    []string{"internal/agent", "internal/strictjson", "internal/locale"},
		forbid:   []string{"os/exec"},
		reason:   "the model client knows no sandbox: nothing the model says can reach one from here",
	},
	{
		packages: []string{"internal/agent/prompt"},
		allow:    []string{"internal/agent", "internal/strictjson", "internal/locale"},
		forbid:   []string{"os", "os/exec", "net"},
		reason:   "prompts are text made from data",
	},
	{
		packages: []string{"internal/agent/session"},
		allow:    []string{"internal/agent", "internal/agent/prompt", "internal/agent/planner", "internal/strictjson"},
		forbid:   []string{"os", "os/exec", "net"},
		reason:   "sessions live in memory only (A-SES-01)",
	},
	{
		packages: []string{"internal/agent/config"},
		allow:    []string{"internal/agent", "internal/agent/config/…", "internal/sandbox", "internal/sandbox/policy", "internal/sandbox/resolve", "internal/yamltree", "internal/strictjson", "internal/fileop", "internal/statedir", "internal/locale", "config"},
		forbid:   []string{"os/exec"},
		reason:   "configuration resolves and compares; it applies nothing to the system",
	},
	{
		packages: []string{"internal/agent/config/applied"},
		allow:    []string{"internal/agent/config/userfile", "internal/sandbox", "internal/sandbox/policy", "internal/yamltree", "internal/strictjson", "internal/atomicfile", "internal/fileop", "internal/statedir", "config"},
		forbid:   []string{"os/exec", "net"},
		reason:   "what was applied is a record and its difference from another; it knows neither the files of a configuration nor people",
	},
	{
		packages: []string{"internal/agent/config/reserved"},
		allow:    []string{"internal/agent/config/userfile", "internal/sandbox", "internal/sandbox/policy", "internal/strictjson", "internal/statedir"},
		forbid:   []string{"os/exec"},
		reason:   "the one place of the configuration that asks the machine who listens on it",
	},
	{
		packages: []string{"internal/agent/config/userfile"},
		forbid:   []string{"os/exec", "net"},
		reason:   "reading a file of the person, and whose it is",
	},
	{
		packages: []string{"internal/agent/runtime"},
		allow:    []string{"internal/agent", "internal/agent/planner", "internal/agent/session", "internal/agent/prompt", "internal/agent/tool", "internal/agent/ollama", "internal/sandbox", "internal/audit", "internal/rolling", "internal/strictjson", "internal/locale"},
		forbid:   []string{"os/exec", "net", "golang.org/x/sys/unix", "golang.org/x/sys/windows"},
		reason:   "the runtime owns states; effects are behind tool and sandbox.Opener",
	},
	{
		packages: []string{"internal/agent/mcpserver/taskstore"},
		allow:    []string{"internal/statedir", "internal/atomicfile", "internal/fileop", "internal/strictjson"},
		forbid:   []string{"os/exec", "net", "net/http", "github.com/modelcontextprotocol/go-sdk/mcp"},
		reason:   "records of MCP tasks are files with states; neither the protocol nor the agent is known there",
	},
	{
		packages: []string{"internal/agent/mcpserver/tasks"},
		allow:    []string{"internal/agent/mcpserver/taskstore", "internal/strictjson"},
		forbid:   []string{"os", "os/exec", "net", "net/http"},
		reason:   "the Tasks extension knows requests and records; what a task does is behind its Work",
	},
	{
		packages: []string{"internal/agent/mcpserver"},
		allow:    []string{"internal/agent", "internal/agent/runtime", "internal/agent/mcpserver/httpd", "internal/agent/mcpserver/tasks", "internal/agent/mcpserver/taskstore", "internal/atomicfile", "internal/statedir", "internal/rolling", "internal/strictjson", "internal/locale"},
		forbid:   []string{"os/exec"},
		reason:   "the outside of the program sees snapshots and ids, never policy, planner or model",
	},
	{
		packages: []string{"internal/agent/mcpserver/httpd", "internal/agent/mcpserver/sockowner"},
		forbid:   []string{"os/exec", "encoding/json"},
		reason:   "the HTTP door knows connections, headers and sizes; it neither parses a message nor decides about a task",
	},
	{
		packages: []string{"internal/agent/mcpserver/requestlog"},
		allow:    []string{"internal/agent/mcpserver/httpd", "internal/strictjson"},
		forbid:   []string{"os/exec", "net/http"},
		reason:   "the request log sees records of closed sets, never a request",
	},
	{
		packages: []string{"internal/agent/lifecycle"},
		allow:    []string{"internal/agent/…", "internal/agent", "internal/sandbox/…", "internal/sandbox", "internal/atomicfile", "internal/audit", "internal/fileop", "internal/journal", "internal/locale", "internal/proctree", "internal/rolling", "internal/statedir", "internal/strictjson", "internal/yamltree", "config"},
		reason:   "the one place that ties program A together; it never sees program B",
	},
	{
		packages: []string{"internal/relay/transport"},
		allow:    []string{"internal/relay", "internal/relay/locate", "internal/relay/codex", "internal/proctree", "internal/strictjson", "internal/fileop"},
		reason:   "a connection carries frames; what they mean, and whether to connect again, is decided above it",
	},
	{
		packages: []string{"config"},
		reason:   "what a release ships: files and their embedding",
	},
	{
		packages: []string{"cmd/agent-mcp"},
		allow:    []string{"internal/agent/lifecycle", "internal/sandbox/host", "internal/locale", "internal/fileop", "internal/wireout"},
		reason:   "a command is a composition root of about 150 lines without logic",
	},
	{
		packages: []string{"internal/relay/codex", "internal/relay/owner"},
		allow:    []string{"internal/strictjson", "internal/relay", "internal/relay/codex"},
		forbid:   []string{"os", "os/exec", "net", "syscall", "unsafe", "golang.org/x/sys/unix"},
		deep:     true,
		reason:   "wire types and partitions are data; deciding what a message means must not depend on this machine",
	},
	{
		packages: []string{"internal/relay/turn", "internal/relay/history", "internal/relay/ledger"},
		allow:    []string{"internal/strictjson", "internal/relay", "internal/relay/codex"},
		forbid:   []string{"os", "os/exec", "net", "syscall", "unsafe", "golang.org/x/sys/unix"},
		deep:     true,
		reason:   "a reducer gives the same state for every order of the same events, on every machine, at every time",
	},
	{
		packages: []string{"internal/relay/locate"},
		allow:    []string{"internal/relay", "internal/strictjson"},
		reason:   "finding the real binary reads files and asks it for its version",
	},
	{
		packages: []string{"internal/relay/contract"},
		allow:    []string{"internal/relay", "internal/relay/codex", "internal/relay/locate", "internal/strictjson", "internal/atomicfile", "internal/fileop", "internal/statedir", "internal/locale"},
		reason:   "the contract is generated by the real CLI and compared; it knows no connection",
	},
	{
		packages: []string{"internal/relay/rpc"},
		allow:    []string{"internal/relay", "internal/relay/codex", "internal/relay/ledger", "internal/relay/transport", "internal/strictjson"},
		forbid:   []string{"os/exec"},
		reason:   "one generation of one connection: frames in, typed things out; it knows neither threads nor people",
	},
	{
		packages: []string{"internal/relay/ask"},
		allow:    []string{"internal/relay", "internal/relay/codex", "internal/relay/rpc", "internal/relay/ledger", "internal/strictjson"},
		forbid:   []string{"os/exec", "net"},
		reason:   "a question is projected, validated, claimed and answered once; how it is shown is not its business",
	},
	{
		packages: []string{"internal/relay/recovery"},
		allow:    []string{"internal/relay", "internal/relay/transport", "internal/relay/rpc"},
		forbid:   []string{"os/exec"},
		reason:   "one owner decides what a lost connection means",
	},
	{
		packages: []string{"internal/relay/profile", "internal/relay/instance", "internal/relay/desktop"},
		allow:    []string{"internal/relay", "internal/yamltree", "internal/strictjson", "internal/fileop", "internal/atomicfile", "internal/statedir", "internal/locale", "internal/proctree", "internal/rolling", "internal/relay/transport"},
		reason:   "files and programs of the person, read strictly and started by argument vector only",
	},
	{
		packages: []string{"internal/relay/uicontract", "internal/relay/uicontract/generate"},
		allow:    []string{"internal/relay", "internal/relay/uicontract", "internal/relay/ask", "internal/relay/codex", "internal/relay/history", "internal/relay/turn", "internal/relay/ledger", "internal/strictjson", "internal/atomicfile", "internal/fileop", "internal/locale"},
		forbid:   []string{"os/exec", "net"},
		reason:   "what crosses to the page is a versioned set of messages, not the worker's inner types",
	},
	{
		packages: []string{"internal/relay/worker"},
		allow: []string{"internal/relay", "internal/relay/uicontract", "internal/relay/recovery", "internal/relay/ask", "internal/relay/attach", "internal/relay/history", "internal/relay/turn",
			"internal/relay/owner", "internal/relay/pathmap", "internal/relay/profile", "internal/relay/rpc", "internal/relay/ledger", "internal/relay/transport", "internal/relay/locate", "internal/relay/codex",
			"internal/strictjson", "internal/locale", "internal/statedir", "internal/rolling"},
		forbid: []string{"os/exec"},
		reason: "the one place that ties program B together behind the worker contract",
	},
	{
		packages: []string{"internal/relay/web"},
		allow:    []string{"internal/relay", "internal/relay/worker", "internal/relay/uicontract", "internal/strictjson", "internal/locale"},
		forbid:   []string{"os/exec"},
		reason:   "the page's door: it carries messages and guards them, it decides nothing",
	},
	{
		packages: []string{"cmd/relaycodex"},
		allow: []string{"internal/relay/worker", "internal/relay/web", "internal/relay/contract", "internal/relay/transport", "internal/relay/profile", "internal/relay/instance", "internal/relay/desktop", "internal/relay/locate",
			"internal/relay/uicontract", "internal/relay", "internal/locale", "internal/fileop", "internal/statedir", "internal/rolling", "config"},
		reason: "a command is a composition root of about 150 lines without logic",
	},
	{
		packages: []string{"cmd/demo", "cmd/sandbox-selftest", "test/…", "arch"},
		allow:    []string{"…"},
		reason:   "tests and demonstrations may use everything; nothing uses them",
	},
}

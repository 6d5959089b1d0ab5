package tool

import (
	"sekisho/internal/agent"
	"sekisho/internal/agent/tool/schema"
)

// Hard caps of A-TOOL-01; configuration may lower them.
const (
	capResults   = 1000
	capTailLines = 10000
)

// capReadBytes bounds limits.whole_read_bytes, which has no upper bound of its own: an answer is held in memory.
const capReadBytes = 256 << 20

const (
	maxPath  = 4096 // PATH_MAX
	maxQuery = 1000 // a pattern; bounds what compiling and matching it can cost
	maxArgs  = 1000 // argv entries of process_run
	maxArg   = 128<<10 - 1
	maxText  = 4 << 20 // content, patch, stdin
)

const pathHint = "Absolute path, or relative to the workspace when there is exactly one."

var toolNames = []string{
	agent.ToolFileSearch, agent.ToolFileRead, agent.ToolFileEdit, agent.ToolProcessRun, agent.ToolTaskUpdate, agent.ToolDir,
}

var budgetClasses = []string{"1K", "2K", "4K", "8K", "16K", "32K", "64K", "128K"}

// catalogue is the whole table of tools, in the order of the specification's section 5.
//
// To add a tool: its name in package agent; its row here; its typed arguments and rules in rules.go; a preparer that
// resolves and judges, in preparers, and a case in sideEffect if it has one; a sentence tool.<name>.<outcome> per success in
// both locale files; its uses in attack_linux_test.go; then go test ./internal/agent/tool -update.
var catalogue = []schema.Schema{
	{
		Name: agent.ToolFileSearch,
		Description: "Find files or text below a readable directory, or read the end of a text file. Symbolic links are listed but not followed. " +
			"Results are sorted by path; text and regex give path:line: text.",
		Fields: []schema.Field{
			{Name: "root", Kind: schema.Text, Required: true, IsPath: true, MaxBytes: maxPath,
				Description: "Directory or file to search. " + pathHint + " For tail: the file."},
			{Name: "mode", Kind: schema.Text, Required: true, Enum: []string{"glob", "name", "text", "regex", "tail"},
				Description: "glob: paths relative to root that match a pattern such as **/*.go. name: file names that contain query, ignoring case. " +
					"text: lines that contain query exactly. regex: lines that match an RE2 expression. tail: last lines of one text file."},
			{Name: "query", Kind: schema.Text, MaxBytes: maxQuery,
				Description: "Pattern or text, at most 1000 bytes. Required in every mode but tail."},
			{Name: "max_results", Kind: schema.Integer, Min: 1, Max: capResults, Fallback: 100,
				Description: "Most results to return, 1 to 1000, default 100."},
			{Name: "tail_lines", Kind: schema.Integer, Min: 1, Max: capTailLines, Fallback: 100,
				Description: "Lines to return in mode tail, 1 to 10000, default 100."},
		},
	},
	{
		Name: agent.ToolFileRead,
		Description: "Read one regular file or its metadata. The first line of the answer is a JSON header with size, sha256 and encoding; the text follows. " +
			"A large file must be read with mode range.",
		Fields: []schema.Field{
			{Name: "path", Kind: schema.Text, Required: true, IsPath: true, MaxBytes: maxPath, Description: "File to read. " + pathHint},
			{Name: "mode", Kind: schema.Text, Required: true, Enum: []string{"whole", "range", "metadata"},
				Description: "whole: the complete text. range: bytes from start. metadata: kind, size, mode, modification time and sha256 without content."},
			{Name: "start", Kind: schema.Integer, Max: 1 << 53, Description: "First byte for mode range, 0 or more, default 0."},
			{Name: "length", Kind: schema.Integer, Max: 1 << 53,
				Description: "Number of bytes for mode range; 0, the default, means as many as one answer may hold."},
		},
	},
	{
		Name: agent.ToolFileEdit,
		Description: "Change one regular file. overwrite, patch, atomic_replace and rename need write permission, delete needs delete permission. " +
			"Encoding, byte order mark, line endings and mode of an existing file are kept. " +
			"A program started in the sandbox can neither rename nor replace files below a root without delete permission, but this tool can rename there.",
		Fields: []schema.Field{
			{Name: "path", Kind: schema.Text, Required: true, IsPath: true, MaxBytes: maxPath, Description: "File to change. " + pathHint},
			{Name: "operation", Kind: schema.Text, Required: true, Enum: []string{"overwrite", "patch", "atomic_replace", "delete", "rename"},
				Description: "overwrite: write content, creating the file if it is missing. patch: replace one text passage. " +
					"atomic_replace: write content over an existing file. delete: remove the file. rename: move it to new_path, which must not exist."},
			{Name: "content", Kind: schema.Text, Nullable: true, MaxBytes: maxText,
				Description: "Complete new text for overwrite and atomic_replace, at most 4 MiB; otherwise null."},
			{Name: "patch", Kind: schema.Text, Nullable: true, MaxBytes: maxText,
				Description: `For patch: a JSON string {"old_text":"...","new_text":"..."}; old_text must occur exactly once in the file. Not a diff. Otherwise null.`},
			{Name: "expected_sha256", Kind: schema.Text, Nullable: true, MaxBytes: 64,
				Description: "SHA-256 (64 hex digits) that the file must have before the change, or null."},
			{Name: "new_path", Kind: schema.Text, Nullable: true, IsPath: true, MaxBytes: maxPath, Description: "For rename: the new path; otherwise null."},
		},
	},
	{
		Name: agent.ToolProcessRun,
		Description: "Run one program in the sandbox and return its exit code and output. There is no shell and no command line: pass each argument on its own. " +
			"Long output is cut in the middle, which the answer says. A program has no network unless the policy grants it.",
		Fields: []schema.Field{
			{Name: "executable", Kind: schema.Text, Required: true, IsPath: true, MaxBytes: maxPath,
				Description: "Alias of an approved program, or a path of a file below a runtime root or a development workspace; a relative path starts at cwd. " +
					"The path of an approved program is not accepted in place of its alias."},
			{Name: "args", Kind: schema.Texts, Required: true, MaxItems: maxArgs, MaxBytes: maxArg, Line: true,
				Description: "Arguments, one array element each, at most 1000; [] for none."},
			{Name: "cwd", Kind: schema.Text, Required: true, IsPath: true, MaxBytes: maxPath, Description: "Working directory. " + pathHint},
			{Name: "timeout_seconds", Kind: schema.Integer, Min: 1, Max: 86400, Fallback: 300,
				Description: "Time limit in seconds, 1 to 86400, default 300; the policy's own limit applies as well."},
			{Name: "stdin", Kind: schema.Text, Nullable: true, MaxBytes: maxText, Description: "Text for standard input, at most 4 MiB, or null."},
		},
	},
	{
		Name: agent.ToolTaskUpdate,
		Description: "Extend the task graph: add a task, add dependencies to a task, or set a task's token estimate. It cannot change the state of a task. " +
			"Completed tasks cannot be changed.",
		Fields: []schema.Field{
			{Name: "operation", Kind: schema.Text, Required: true, Enum: []string{UpdateAdd, UpdateAddDependency, UpdateSetEstimate},
				Description: "add: needs description, budget_class, the three estimates and requires_external_effect. " +
					"add_dependency: needs task_id and depends_on. set_estimate: needs task_id, budget_class and the three estimates."},
			{Name: "task_id", Kind: schema.Text, Nullable: true, MaxBytes: 128, Description: "Id of an existing task; null for add."},
			{Name: "description", Kind: schema.Text, Nullable: true, MaxBytes: 8192, Description: "What the new task does, at most 8192 bytes; otherwise null."},
			{Name: "depends_on", Kind: schema.Texts, MaxItems: 64, MaxBytes: 128, Unique: true, Description: "Ids of tasks that must be completed before, at most 64; [] for none."},
			{Name: "budget_class", Kind: schema.Text, Nullable: true, Enum: budgetClasses, Description: "Token budget of the task, or null."},
			{Name: "optimistic_tokens", Kind: schema.Integer, Max: 131072, Description: "Optimistic estimate O: 0 < O <= M <= P <= budget; 0 for add_dependency."},
			{Name: "most_likely_tokens", Kind: schema.Integer, Max: 131072, Description: "Most likely estimate M; 0 for add_dependency."},
			{Name: "pessimistic_tokens", Kind: schema.Integer, Max: 131072, Description: "Pessimistic estimate P; 0 for add_dependency."},
			{Name: "requires_external_effect", Kind: schema.Boolean, Nullable: true,
				Description: "For add: whether the task must change a file or directory or run a program; otherwise null."},
			{Name: "required_tools", Kind: schema.Texts, Enum: toolNames, MaxItems: 6, Unique: true,
				Description: "For add: tools that must succeed before the task counts as done; [] only for a purely explanatory task."},
		},
	},
	{
		Name:        agent.ToolDir,
		Description: "Make, remove or list a directory.",
		Fields: []schema.Field{
			{Name: "path", Kind: schema.Text, Required: true, IsPath: true, MaxBytes: maxPath, Description: "Directory. " + pathHint},
			{Name: "operation", Kind: schema.Text, Required: true, Enum: []string{"mkdir", "rmdir", "list"},
				Description: "mkdir: make it and its missing parents. rmdir: remove it when it is empty, never with content. list: its direct entries with kind and size."},
		},
	},
}

func find(name string) (schema.Schema, bool) {
	for _, s := range catalogue {
		if s.Name == name {
			return s, true
		}
	}
	return schema.Schema{}, false
}

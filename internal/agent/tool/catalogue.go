package tool

import "sekisho/internal/agent"

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
var catalogue = []schema{
	{
		name: agent.ToolFileSearch,
		description: "Find files or text below a readable directory, or read the end of a text file. Symbolic links are listed but not followed. " +
			"Results are sorted by path; text and regex give path:line: text.",
		fields: []field{
			{name: "root", kind: text, required: true, isPath: true, maxBytes: maxPath,
				description: "Directory or file to search. " + pathHint + " For tail: the file."},
			{name: "mode", kind: text, required: true, enum: []string{"glob", "name", "text", "regex", "tail"},
				description: "glob: paths relative to root that match a pattern such as **/*.go. name: file names that contain query, ignoring case. " +
					"text: lines that contain query exactly. regex: lines that match an RE2 expression. tail: last lines of one text file."},
			{name: "query", kind: text, maxBytes: maxQuery,
				description: "Pattern or text, at most 1000 bytes. Required in every mode but tail."},
			{name: "max_results", kind: integer, min: 1, max: capResults, fallback: 100,
				description: "Most results to return, 1 to 1000, default 100."},
			{name: "tail_lines", kind: integer, min: 1, max: capTailLines, fallback: 100,
				description: "Lines to return in mode tail, 1 to 10000, default 100."},
		},
	},
	{
		name: agent.ToolFileRead,
		description: "Read one regular file or its metadata. The first line of the answer is a JSON header with size, sha256 and encoding; the text follows. " +
			"A large file must be read with mode range.",
		fields: []field{
			{name: "path", kind: text, required: true, isPath: true, maxBytes: maxPath, description: "File to read. " + pathHint},
			{name: "mode", kind: text, required: true, enum: []string{"whole", "range", "metadata"},
				description: "whole: the complete text. range: bytes from start. metadata: kind, size, mode, modification time and sha256 without content."},
			{name: "start", kind: integer, max: 1 << 53, description: "First byte for mode range, 0 or more, default 0."},
			{name: "length", kind: integer, max: 1 << 53,
				description: "Number of bytes for mode range; 0, the default, means as many as one answer may hold."},
		},
	},
	{
		name: agent.ToolFileEdit,
		description: "Change one regular file. overwrite, patch, atomic_replace and rename need write permission, delete needs delete permission. " +
			"Encoding, byte order mark, line endings and mode of an existing file are kept. " +
			"A program started in the sandbox can neither rename nor replace files below a root without delete permission, but this tool can rename there.",
		fields: []field{
			{name: "path", kind: text, required: true, isPath: true, maxBytes: maxPath, description: "File to change. " + pathHint},
			{name: "operation", kind: text, required: true, enum: []string{"overwrite", "patch", "atomic_replace", "delete", "rename"},
				description: "overwrite: write content, creating the file if it is missing. patch: replace one text passage. " +
					"atomic_replace: write content over an existing file. delete: remove the file. rename: move it to new_path, which must not exist."},
			{name: "content", kind: text, nullable: true, maxBytes: maxText,
				description: "Complete new text for overwrite and atomic_replace, at most 4 MiB; otherwise null."},
			{name: "patch", kind: text, nullable: true, maxBytes: maxText,
				description: `For patch: a JSON string {"old_text":"...","new_text":"..."}; old_text must occur exactly once in the file. Not a diff. Otherwise null.`},
			{name: "expected_sha256", kind: text, nullable: true, maxBytes: 64,
				description: "SHA-256 (64 hex digits) that the file must have before the change, or null."},
			{name: "new_path", kind: text, nullable: true, isPath: true, maxBytes: maxPath, description: "For rename: the new path; otherwise null."},
		},
	},
	{
		name: agent.ToolProcessRun,
		description: "Run one program in the sandbox and return its exit code and output. There is no shell and no command line: pass each argument on its own. " +
			"Long output is cut in the middle, which the answer says. A program has no network unless the policy grants it.",
		fields: []field{
			{name: "executable", kind: text, required: true, isPath: true, maxBytes: maxPath,
				description: "Alias of an approved program, or a path of a file below a runtime root or a development workspace; a relative path starts at cwd. " +
					"The path of an approved program is not accepted in place of its alias."},
			{name: "args", kind: texts, required: true, maxItems: maxArgs, maxBytes: maxArg, line: true,
				description: "Arguments, one array element each, at most 1000; [] for none."},
			{name: "cwd", kind: text, required: true, isPath: true, maxBytes: maxPath, description: "Working directory. " + pathHint},
			{name: "timeout_seconds", kind: integer, min: 1, max: 86400, fallback: 300,
				description: "Time limit in seconds, 1 to 86400, default 300; the policy's own limit applies as well."},
			{name: "stdin", kind: text, nullable: true, maxBytes: maxText, description: "Text for standard input, at most 4 MiB, or null."},
		},
	},
	{
		name: agent.ToolTaskUpdate,
		description: "Extend the task graph: add a task, add dependencies to a task, or set a task's token estimate. It cannot change the state of a task. " +
			"Completed tasks cannot be changed.",
		fields: []field{
			{name: "operation", kind: text, required: true, enum: []string{UpdateAdd, UpdateAddDependency, UpdateSetEstimate},
				description: "add: needs description, budget_class, the three estimates and requires_external_effect. " +
					"add_dependency: needs task_id and depends_on. set_estimate: needs task_id, budget_class and the three estimates."},
			{name: "task_id", kind: text, nullable: true, maxBytes: 128, description: "Id of an existing task; null for add."},
			{name: "description", kind: text, nullable: true, maxBytes: 8192, description: "What the new task does, at most 8192 bytes; otherwise null."},
			{name: "depends_on", kind: texts, maxItems: 64, maxBytes: 128, unique: true, description: "Ids of tasks that must be completed before, at most 64; [] for none."},
			{name: "budget_class", kind: text, nullable: true, enum: budgetClasses, description: "Token budget of the task, or null."},
			{name: "optimistic_tokens", kind: integer, max: 131072, description: "Optimistic estimate O: 0 < O <= M <= P <= budget; 0 for add_dependency."},
			{name: "most_likely_tokens", kind: integer, max: 131072, description: "Most likely estimate M; 0 for add_dependency."},
			{name: "pessimistic_tokens", kind: integer, max: 131072, description: "Pessimistic estimate P; 0 for add_dependency."},
			{name: "requires_external_effect", kind: boolean, nullable: true,
				description: "For add: whether the task must change a file or directory or run a program; otherwise null."},
			{name: "required_tools", kind: texts, enum: toolNames, maxItems: 6, unique: true,
				description: "For add: tools that must succeed before the task counts as done; [] only for a purely explanatory task."},
		},
	},
	{
		name:        agent.ToolDir,
		description: "Make, remove or list a directory.",
		fields: []field{
			{name: "path", kind: text, required: true, isPath: true, maxBytes: maxPath, description: "Directory. " + pathHint},
			{name: "operation", kind: text, required: true, enum: []string{"mkdir", "rmdir", "list"},
				description: "mkdir: make it and its missing parents. rmdir: remove it when it is empty, never with content. list: its direct entries with kind and size."},
		},
	},
}

func find(name string) (schema, bool) {
	for _, s := range catalogue {
		if s.name == name {
			return s, true
		}
	}
	return schema{}, false
}

package policy

import "testing"

// Names that a directory without case takes for protected ones, as git's own list of such tricks has them, and names that it does not.
//
// proves A-POL-13
func TestNamesInADirectoryWithoutCase(t *testing.T) {
	for name, want := range map[string]Place{
		".GIT": GitDir, ".g\u200cit": GitDir, "\ufeff.git": GitDir, ".gi\u034ft\u2064": GitDir, ".git\U000e0101": GitDir, ".g\u00adIt": GitDir,
		".gıt": Tree, ".gìt": Tree, ".gi": Tree, "git": Tree, ".git ": Tree,
		".VSCode": ToolConfig, ".vſcode": ToolConfig, "AGENTſ.md": ToolConfig, ".hus\u212Ay": ToolConfig, "agents.MD": ToolConfig, ".claudé": Tree,
	} {
		if got := Tree.Enter(name, true, true); got != want {
			t.Errorf("%q is %v, not %v", name, got, want)
		}
		if got := Tree.Enter(name, true, false); got != Tree {
			t.Errorf("where case counts, %q is %v", name, got)
		}
	}
	for _, name := range []string{"con\ufb01g", "HOO\u212AS", "hookſ", "co\u200dmmondir"} {
		if got := GitDir.Enter(name, true, true); got != ToolConfig {
			t.Errorf("%q in a git directory is %v", name, got)
		}
	}
}

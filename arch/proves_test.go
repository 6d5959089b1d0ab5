package arch

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// later lists requirements that this release does not claim, each with what happens instead. A requirement that is
// neither here nor proven by a test fails the build; one that is here and proven must leave the list.
var later = map[string]string{
	"A-SES-04": "only an overflow shortens the context (A-SES-07)",
	"A-SES-05": "skills.directory is refused as not yet available",
	"A-TX-07":  "Windows only",
	"A-REL-01": "no release bundle yet",
	"A-REL-02": "no release bundle yet",

	"R-PRI-06":  "no directory check is made or shown yet, neither for a local server nor for a remote one",
	"R-PRI-08":  "the meanings are in the specification; their ADRs come with the settings and caches that they are about",
	"R-PATH-01": "no path is mapped: a cwd is passed on as it was given",
	"R-PATH-02": "no path is mapped; nothing is opened, revealed or attached",
	"R-PATH-03": "nothing is opened, revealed or attached",
	"R-REC-02":  "the contract has the states offline, connecting, connected, reconnecting, waiting for manual reconnect; the others come with the recovery owner",
	"R-REC-03":  "drafts of text survive a switch, a cut, a restarted worker and another owner; attachments, skills and next-turn settings are no part of them, and nothing is restored",
	"R-REC-06":  "attachments are neither listed nor changed",
	"R-REC-09":  "there are no automatic attempts: every reconnect is a person's",
	"R-REC-10":  "there is no quarantined draft to restore or discard; the thread list is read anew",
	"R-DAY-01":  "plans are shown as items; models are listed, their modalities are not checked before sending",
	"R-DAY-02":  "there is no /shell",
	"R-DAY-03":  "results are shown as bounded text; no previews, nothing is opened",
	"R-DAY-04":  "attachments are neither listed nor changed",
	"R-DAY-05":  "the Windows sandbox is neither asked about nor set up",
	"R-DAY-06":  "new members are tolerated and not shown",
	"R-REL-01":  "no release yet",
	"R-REL-02":  "no release yet",
	"R-REL-03":  "no release yet",
	"R-REL-04":  "the workflows that exist are tested in a real browser; attachments, /shell, setup and restore do not exist, and the pictures carry no verdict",
	"R-REL-05":  "the evidence is of one headless Chromium on Linux; no other system and no screen of a person was looked at",
}

var (
	idLine     = regexp.MustCompile(`(?m)^- ([AR]-[A-Z]+-\d+)`)
	provesLine = regexp.MustCompile(`(?m)^\s*// proves (.+)$`)
	idToken    = regexp.MustCompile(`^(A-[A-Z]+-\d+|ST-\d+|R-[A-Z]+-\d+)$`)
)

// known returns the ids of the specifications in docs/spec, in their order.
func known(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), "docs", "spec", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range idLine.FindAllStringSubmatch(string(data), -1) {
			ids = append(ids, m[1])
		}
	}
	if len(ids) < 80 {
		t.Fatalf("only %d ids found in the specifications", len(ids))
	}
	return ids
}

// proven maps each id to the files whose tests name it.
func proven(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	eachTestFile(t, func(rel, text string) {
		for _, m := range provesLine.FindAllStringSubmatch(text, -1) {
			ids, _, _ := strings.Cut(m[1], ":") // what follows a colon says in which respect
			for id := range strings.SplitSeq(ids, ",") {
				id = strings.TrimSpace(id)
				if !idToken.MatchString(id) {
					t.Errorf("%s: %q is no requirement id", rel, id)
				}
				if !slices.Contains(found[id], rel) {
					found[id] = append(found[id], rel)
				}
			}
		}
	})
	return found
}

// eachTestFile calls f with every Go file, since what proves something need not be named _test.go, and with the tests of the
// page.
func eachTestFile(t *testing.T, f func(rel, text string)) {
	t.Helper()
	err := filepath.WalkDir(root(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".test.ts") && !strings.HasSuffix(path, ".test.mjs") {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root(t), path)
		f(rel, string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRequirementsAreProven(t *testing.T) {
	ids, proofs := known(t), proven(t)
	for _, id := range ids {
		reason, isLater := later[id]
		switch {
		case len(proofs[id]) == 0 && !isLater:
			t.Errorf("%s has no test that proves it", id)
		case len(proofs[id]) > 0 && isLater:
			t.Errorf("%s is proven by %v and listed as later (%q): remove it from the list", id, proofs[id], reason)
		}
	}
	for id := range later {
		if !slices.Contains(ids, id) {
			t.Errorf("%s is listed as later and not in a specification", id)
		}
	}
	for id, files := range proofs {
		if !strings.HasPrefix(id, "ST-") && !slices.Contains(ids, id) {
			t.Errorf("%v: %s is in no specification", files, id)
		}
	}
}

var update = flag.Bool("update", false, "rewrite the generated parts of docs/assurance.md")

const generatedTo = "<!-- end of the generated part -->\n"

package proctree

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// proves R-CONN-10
func TestDescendantsOfAnyDepthAndSession(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", "setsid sh -c 'sleep 1000 & echo $!; wait' & wait")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	deepest, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := Descendants(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{cmd.Process.Pid, deepest} {
		want, err := Identify(pid)
		if err != nil || !slices.Contains(ids, want) {
			t.Errorf("%v is missing in %v, %v", want, ids, err)
		}
	}
	for _, id := range ids {
		if err := Kill(id); err != nil && err != ErrGone {
			t.Errorf("ending %v: %v", id, err)
		}
	}
	cmd.Wait()
	if left, err := Descendants(os.Getpid()); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

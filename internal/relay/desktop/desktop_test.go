package desktop

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// proves R-UI-01
func TestRedirect(t *testing.T) {
	data, err := Redirect("http://127.0.0.1:1/#a\"><script>")
	if err != nil || strings.Contains(string(data), "<script>") || !strings.Contains(string(data), "url=http://127.0.0.1:1/#a") {
		t.Errorf("%s, %v", data, err)
	}
	for _, bad := range []string{"javascript:alert(1)", "https://x", "file:///x", "http:", "://"} {
		if _, err := Redirect(bad); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}

func TestOpenFilePassesOneArgument(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // the opener's name is another one
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\nprintf '%s\\n' \"$#\" \"$1\" >\""+dir+"/got\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	path := dir + "/a b; touch c"
	if err := OpenFile(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(dir + "/got"); string(got) != "1\n"+path+"\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := OpenFile(t.Context(), "relative"); err == nil {
		t.Error("a relative path was opened")
	}
}

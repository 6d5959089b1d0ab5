package filetx

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"sekisho/internal/fileop"
	"sekisho/internal/journal"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/rootio"
)

// Operations of a record.
const (
	opWrite  = "write"
	opDelete = "delete"
	opRename = "rename"
	opMkdir  = "mkdir"
	opRmdir  = "rmdir"
)

// record is what is needed to undo one transaction in another process. It is on the device before the first effect.
type record struct {
	SchemaVersion int       `json:"schema_version"` // 1
	TaskID        string    `json:"task_id"`
	SessionID     string    `json:"session_id,omitempty"`
	CreatedAt     time.Time `json:"created_at"`
	Operation     string    `json:"operation"`
	// Places are the names that change: of a write, delete or rmdir one; of a rename the old and the new one; of a mkdir
	// every directory, outermost first, added before it is made.
	Places []place `json:"places"`
	// Before is the old file or directory, nil when there was none. After is the digest of the new bytes.
	Before *version `json:"before,omitempty"`
	After  string   `json:"after_sha256,omitempty"`
	// Temp and Restore are the names beside the object that hold new bytes, or what is restored, until they get their place.
	Temp    string `json:"temp,omitempty"`
	Restore string `json:"restore,omitempty"`
	// Backup names the file in the instance's directory that holds the old bytes; "" when they are in memory only.
	Backup string `json:"backup,omitempty"`
}

// place is one name: its path when it was resolved, the root it lies in, and the identity of its directory.
type place struct {
	Path   string         `json:"path"`
	Root   sandbox.Root   `json:"root"`
	Parent sandbox.FileID `json:"parent"`
}

// version describes an old object.
type version struct {
	SHA256 string      `json:"sha256,omitempty"`
	Size   int64       `json:"size"`
	Mode   fs.FileMode `json:"mode"`
	UID    int         `json:"uid"`
	GID    int         `json:"gid"`
}

func placeOf(t *rootio.Target) place {
	return place{Path: t.NamePath(), Root: t.Root(), Parent: t.ParentID()}
}

func versionOf(i rootio.Info, sum string) *version {
	return &version{SHA256: sum, Size: i.Size, Mode: i.Mode, UID: i.UID, GID: i.GID}
}

// info is the version as what a restored object shall be like.
func (v *version) info(kind rootio.Kind) rootio.Info {
	return rootio.Info{Kind: kind, Size: v.Size, Mode: v.Mode, UID: v.UID, GID: v.GID}
}

func openStore(fsys fileop.FS, dir *os.File) *journal.Records[record] {
	return journal.OpenRecords(fsys, dir, ".files.json", checkRecord)
}

// checkRecord judges a record before it is written and after it was read.
func checkRecord(_, r *record) error {
	if r.SchemaVersion != 1 || r.TaskID == "" {
		return errors.New("unknown schema version or no task id")
	}
	places := map[string]int{opWrite: 1, opDelete: 1, opRename: 2, opMkdir: len(r.Places), opRmdir: 1}
	if n, ok := places[r.Operation]; !ok || n != len(r.Places) || n == 0 {
		return fmt.Errorf("operation %q with %d places", r.Operation, len(r.Places))
	}
	for _, p := range r.Places {
		if !cleanPath(p.Path) || !cleanPath(p.Root.Path) || !strings.HasPrefix(p.Path, p.Root.Path+"/") {
			return fmt.Errorf("place %q is not below its root %q", p.Path, p.Root.Path)
		}
	}
	for _, name := range []string{r.Temp, r.Restore, r.Backup} {
		if name != "" && (fileop.CheckName(name) != nil || !strings.HasSuffix(name, suffix)) {
			return fmt.Errorf("%q is no name of ours", name)
		}
	}
	needsOld := r.Operation == opDelete || r.Operation == opRename || r.Operation == opRmdir
	if needsOld && (r.Before == nil || r.Restore == "" && r.Operation != opRename) || r.Operation == opWrite && (r.Temp == "" || r.Restore == "" || r.After == "") {
		return fmt.Errorf("operation %q without what undoing it needs", r.Operation)
	}
	return nil
}

func cleanPath(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && !strings.ContainsRune(p, 0)
}

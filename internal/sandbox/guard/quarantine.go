package guard

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"sekisho/internal/fileop"
	"sekisho/internal/sandbox/rootio"
	"sekisho/internal/strictjson"
)

// Index is the file in a quarantine that tells, one JSON object a line, under which name an object lies there and where it
// was. A line is written before its object is moved.
const Index = "index.jsonl"

// insidePrefix begins the name of a quarantine inside a root: on another file system nothing can be moved at once.
const insidePrefix = ".agent-mcp-quarantine-"

// Quarantine is where one task's objects go: a directory of the user's state, made when it is needed, or, for a root on
// another file system, one in that root. Both are open to their owner only. Objects get numbers for names, so that no
// tool finds them by theirs.
type Quarantine struct {
	fsys  fileop.FS
	state *os.File // holds the quarantines of all tasks
	task  string

	places map[string]*place // by the directory that holds it
	next   int
}

type place struct {
	parent     *os.File
	name       string
	dir, index *os.File
	held       int // objects that this server moved here
}

// NewQuarantine returns the quarantine of a task below state, which stays the caller's. Nothing is made yet.
func NewQuarantine(fsys fileop.FS, state *os.File, task string) *Quarantine {
	return &Quarantine{fsys: fsys, state: state, task: task, places: map[string]*place{}}
}

// Close flushes what was moved.
func (q *Quarantine) Close() error {
	var errs []error
	for _, p := range q.places {
		errs = append(errs, q.fsys.Sync(p.index), q.fsys.Sync(p.dir), p.remove(q.fsys), p.index.Close(), p.dir.Close(), p.parent.Close())
	}
	q.places = map[string]*place{}
	return errors.Join(errs...)
}

// remove takes a place away that nothing could be moved to.
func (p *place) remove(fsys fileop.FS) error {
	if p.held > 0 {
		return nil
	}
	names, err := p.dir.Readdirnames(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if len(names) != 1 || names[0] != Index {
		return nil
	}
	if err = fsys.Unlink(p.dir, Index); err == nil {
		err = fsys.Rmdir(p.parent, p.name)
	}
	return err
}

// take moves v, trying the places in order. The error of the last one is returned.
func (q *Quarantine) take(root *rootio.Root, v *rootio.Visit) (string, error) {
	state, err := rootio.Describe(q.state, ".")
	if err != nil {
		return "", err
	}
	if state.ID.Dev == v.Info.ID.Dev {
		if to, err := q.moveTo(q.state, q.task, v); !errors.Is(err, syscall.EXDEV) { // two mounts of one file system
			return to, err
		}
	}
	dir, err := root.Reader()
	if err != nil {
		return "", err
	}
	defer dir.Close()
	to, err := q.moveTo(dir, "", v)
	if errors.Is(err, syscall.EXDEV) && v.Dir.Name() != dir.Name() { // a volume of its own inside the root
		to, err = q.moveTo(v.Dir, "", v)
	}
	return to, err
}

// moveTo moves v into the directory name of parent; "" makes one with a name that nobody could foresee.
func (q *Quarantine) moveTo(parent *os.File, name string, v *rootio.Visit) (string, error) {
	p, err := q.open(parent, name)
	if err != nil {
		return "", err
	}
	for {
		q.next++
		number := strconv.Itoa(q.next)
		if _, err := rootio.Describe(p.dir, number); err == nil {
			continue // from before a crash
		}
		line, err := strictjson.Marshal(struct {
			Item string `json:"item"`
			Path string `json:"path"`
		}{number, strings.ToValidUTF8(v.Path, "\uFFFD")})
		if err != nil {
			return "", err
		}
		if err := q.fsys.Write(p.index, append(line, '\n')); err != nil {
			return "", err
		}
		err = q.fsys.Rename(v.Dir, v.Name, p.dir, number, false)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			p.held++
		}
		return path.Join(p.dir.Name(), number), err
	}
}

func (q *Quarantine) open(parent *os.File, name string) (*place, error) {
	if p := q.places[parent.Name()]; p != nil {
		return p, nil
	}
	fresh := name == ""
	if fresh {
		name = insidePrefix + strings.ToLower(rand.Text()[:16])
	}
	if err := q.fsys.Mkdir(parent, name, 0o700); err != nil && (fresh || !errors.Is(err, fs.ErrExist)) {
		return nil, err
	}
	if err := q.fsys.Sync(parent); err != nil {
		return nil, err
	}
	dir, err := rootio.OpenBelow(parent, name)
	if err != nil {
		return nil, err
	}
	index, err := q.fsys.OpenAppend(dir, Index, 0o600)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	held, err := rootio.Again(parent)
	if err != nil {
		return nil, errors.Join(err, dir.Close(), index.Close())
	}
	p := &place{parent: held, name: name, dir: dir, index: index}
	q.places[parent.Name()] = p
	return p, nil
}

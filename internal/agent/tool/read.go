package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"sekisho/internal/agent"
	"sekisho/internal/agent/tool/charset"
	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/rootio"
)

// hashBytes is the largest file that metadata hashes.
const hashBytes = 256 << 20

// readHeader is the header of file_read. Start and Length count bytes of the file, the byte order mark included; the text
// that follows is those bytes as UTF-8. NextStart is where the next range begins, absent at the end of the file.
type readHeader struct {
	OK        bool             `json:"ok"`
	Path      string           `json:"path"`
	Kind      string           `json:"kind,omitzero"`
	Size      int64            `json:"size"`
	Start     int64            `json:"start,omitzero"`
	Length    *int64           `json:"length,omitzero"`
	NextStart *int64           `json:"next_start,omitzero"`
	Encoding  charset.Encoding `json:"encoding,omitzero"`
	SHA256    string           `json:"sha256,omitzero"` // of the complete file
	Mode      string           `json:"mode,omitzero"`
	Modified  string           `json:"modified,omitzero"`
	Note      string           `json:"note,omitzero"`
}

func (d *Dispatcher) prepareRead(_ context.Context, s Scope, _ agent.ToolCall, args any) step {
	a := args.(readArgs)
	t, refused := d.resolve(s, a.path, rootio.Existing, sandbox.Read)
	if refused != nil {
		return step{refused: refused}
	}
	return step{close: t.Close, run: func(ctx context.Context) outcome {
		o := d.read(ctx, a, t)
		o.target = a.path
		return o
	}}
}

func (d *Dispatcher) read(ctx context.Context, a readArgs, t *rootio.Target) outcome {
	if t.Info().Kind == rootio.Dir {
		if a.mode != "metadata" {
			return failure("is_directory", a.path, "the path is a directory; list it instead")
		}
		return done("tool.read.metadata", readHeader{OK: true, Path: valid(t.Path()), Kind: "directory", Mode: t.Info().Mode.String(), Modified: stamp(t.Info().ModTime)}, "", a.path)
	}
	f, err := t.OpenRead()
	if err != nil {
		return d.readFailure(a.path, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return d.readFailure(a.path, err)
	}
	h := readHeader{OK: true, Path: valid(t.Path()), Size: st.Size()}
	switch a.mode {
	case "metadata":
		return d.metadata(ctx, a, f, st, h)
	case "whole":
		return d.whole(a, f, h)
	}
	return d.byteRange(a, f, h)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (d *Dispatcher) metadata(ctx context.Context, a readArgs, f *os.File, st os.FileInfo, h readHeader) outcome {
	h.Kind, h.Mode, h.Modified = "file", st.Mode().String(), stamp(st.ModTime())
	head := make([]byte, charset.SniffBytes)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return d.readFailure(a.path, err)
	}
	h.Encoding = charset.Sniff(head[:n], int64(n) < h.Size)
	if h.Size <= hashBytes {
		sum := sha256.New()
		if _, err := io.Copy(sum, io.LimitReader(&ctxReader{ctx, f}, hashBytes)); err != nil {
			return d.readFailure(a.path, err)
		}
		h.SHA256 = hex.EncodeToString(sum.Sum(nil))
	} else {
		h.Note = "too large to hash"
	}
	return done("tool.read.metadata", h, "", a.path)
}

func (d *Dispatcher) whole(a readArgs, f *os.File, h readHeader) outcome {
	limit := d.deps.Limits.WholeReadBytes
	tooLarge := func(size int64) outcome {
		return failure("whole_too_large", a.path, fmt.Sprintf("the file has %d bytes and at most %d are read at once; use mode range with start and length", size, limit))
	}
	if h.Size > limit {
		return tooLarge(h.Size)
	}
	// The file may grow while it is read: one byte more than allowed tells.
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return d.readFailure(a.path, err)
	}
	if int64(len(b)) > limit {
		return tooLarge(int64(len(b)))
	}
	h.Encoding = charset.Sniff(b, false)
	if h.Encoding == charset.Binary {
		return failure("binary", a.path, "the file is not text (neither UTF-8 nor marked as UTF-16); mode range shows its bytes as escapes, metadata its size and sha256")
	}
	sum := sha256.Sum256(b)
	n := int64(len(b))
	h.Size, h.Length, h.SHA256 = n, &n, hex.EncodeToString(sum[:])
	s, exact := h.Encoding.Decode(b[h.Encoding.BOM():])
	if !exact {
		h.Note = noteEscaped
	}
	return done("tool.read.content", h, s, a.path)
}

const noteEscaped = `bytes that are not valid in the encoding are shown as escapes`

// byteRange reads from start. The range is moved to whole characters: forward at its beginning, back at its end, so that
// ranges that follow next_start join without loss.
func (d *Dispatcher) byteRange(a readArgs, f *os.File, h readHeader) outcome {
	if a.start > h.Size {
		return failure("beyond_end", a.path, fmt.Sprintf("start %d lies beyond the end: the file has %d bytes", a.start, h.Size))
	}
	want := d.deps.Limits.WholeReadBytes
	if a.length > 0 {
		want = min(want, a.length)
	}
	head := make([]byte, charset.SniffBytes)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return d.readFailure(a.path, err)
	}
	h.Encoding = charset.Sniff(head[:n], int64(n) < h.Size)
	// Up to three bytes more, so that a range shorter than one character still moves on.
	b := make([]byte, min(want+3, h.Size-a.start))
	n, err = f.ReadAt(b, a.start)
	if err != nil && !errors.Is(err, io.EOF) {
		return d.readFailure(a.path, err)
	}
	b = b[:n]
	start, b := h.Encoding.Cut(b, a.start, want)
	length := int64(len(b))
	h.Start, h.Length = start, &length
	if next := start + length; next < h.Size {
		h.NextStart = &next
	}
	if start == 0 {
		b = b[min(h.Encoding.BOM(), len(b)):]
	}
	s, exact := h.Encoding.Decode(b)
	if !exact || h.Encoding == charset.Binary {
		h.Note = noteEscaped
	}
	return done("tool.read.content", h, s, a.path)
}

// ctxReader stops reading when ctx ends.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

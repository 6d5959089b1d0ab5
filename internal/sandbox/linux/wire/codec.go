//go:build linux

package wire

import (
	"encoding/binary"
	"errors"
)

// message is what travels.
type message interface {
	encode() ([]byte, error)
	decode([]byte) error
}

// walker walks its own fields, in one order for both directions. A program of the standard library's kind would build tables by
// reflection first, in a launcher that should stay small.
type walker interface{ fields(c *codec) }

var errMalformed = errors.New("malformed sandbox message")

// codec writes fields to buf, or takes them from it.
type codec struct {
	buf      []byte
	decoding bool
	err      error
}

func encode(m walker) []byte {
	c := &codec{buf: make([]byte, 0, 1<<10)}
	m.fields(c)
	return c.buf
}

func decode(data []byte, m walker) error {
	c := &codec{buf: data, decoding: true}
	m.fields(c)
	if c.err == nil && len(c.buf) > 0 {
		c.err = errMalformed
	}
	return c.err
}

// number is the base of every other kind.
func (c *codec) number(v *uint64) {
	if !c.decoding {
		c.buf = binary.AppendUvarint(c.buf, *v)
		return
	}
	n, size := binary.Uvarint(c.buf)
	if size <= 0 || c.err != nil {
		c.fail()
		return
	}
	*v, c.buf = n, c.buf[size:]
}

func (c *codec) fail() {
	c.err = errMalformed
	c.buf = nil
}

func (c *codec) bool(v *bool) {
	var n uint64
	if *v {
		n = 1
	}
	c.number(&n)
	*v = n == 1
	if n > 1 {
		c.fail()
	}
}

// int keeps the sign in the lowest bit.
func (c *codec) int(v *int) {
	n := uint64(*v)<<1 ^ uint64(*v>>63)
	c.number(&n)
	*v = int(n>>1) ^ -int(n&1)
}

func (c *codec) text(v *string) { str(c, v) }

// str is text for any string type.
func str[T ~string](c *codec, v *T) {
	n := uint64(len(*v))
	c.number(&n)
	switch {
	case !c.decoding:
		c.buf = append(c.buf, *v...)
	case n > uint64(len(c.buf)):
		c.fail()
	default:
		*v, c.buf = T(c.buf[:n]), c.buf[n:]
	}
}

// optional walks a pointer.
func optional[T any](c *codec, v **T, each func(*codec, *T)) {
	there := *v != nil
	c.bool(&there)
	if c.decoding {
		*v = nil
		if there {
			*v = new(T)
		}
	}
	if there && c.err == nil {
		each(c, *v)
	}
}

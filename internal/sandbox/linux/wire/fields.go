//go:build linux

package wire

func (l *Launch) fields(c *codec) {
	c.bool(&l.Ahead)
	c.bool(&l.Unified)
	c.int(&l.Tasks)
	c.text(&l.UIDMap)
	c.text(&l.GIDMap)
	c.bool(&l.DenySetgroups)
}

func (l *Launch) encode() ([]byte, error) { return encode(l), nil }
func (l *Launch) decode(b []byte) error   { return decode(b, l) }

func (l *Launched) fields(c *codec) {
	c.int(&l.PID)
	optional(c, &l.Failed, func(c *codec, f *Failed) { f.fields(c) })
}

func (l *Launched) encode() ([]byte, error) { return encode(l), nil }
func (l *Launched) decode(b []byte) error   { return decode(b, l) }

func (f *Failed) fields(c *codec) {
	str(c, &f.Stage)
	c.int(&f.Errno)
	c.text(&f.Target)
	c.text(&f.Detail)
}

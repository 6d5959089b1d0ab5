//go:build linux

package wire

import "sekisho/internal/sandbox"

func (r *Request) fields(c *codec) {
	c.bool(&r.Files)
	optional(c, &r.Setup, func(c *codec, s *Setup) { s.fields(c) })
	optional(c, &r.Start, func(c *codec, s *Start) { s.fields(c) })
	optional(c, &r.Release, func(c *codec, s *Release) { c.bool(&s.Run) })
}

func (r *Reply) fields(c *codec) {
	c.bool(&r.Ready)
	list(c, &r.Listening, (*codec).uint32)
	optional(c, &r.Failed, func(c *codec, f *Failed) { f.fields(c) })
	c.bool(&r.Stopped)
	c.bool(&r.Started)
	optional(c, &r.Ended, func(c *codec, e *Ended) { c.uint32(&e.Status) })
}

func (s *Setup) fields(c *codec) {
	list(c, &s.Layout.Binds, func(c *codec, b *Bind) { b.fields(c) })
	list(c, &s.Layout.Links, func(c *codec, l *Link) { c.text(&l.Path); c.text(&l.To) })
	list(c, &s.Layout.Files, func(c *codec, f *File) { c.text(&f.Path); c.text(&f.Text) })
	list(c, &s.Layout.Guards, func(c *codec, g *Guard) { c.text(&g.Target); c.bool(&g.File); c.bool(&g.ReadOnly) })
	list(c, &s.Rules, func(c *codec, r *Rule) { r.fields(c) })
	c.bytes(&s.Filter)
	c.int(&s.UID)
	c.int(&s.GID)
	c.bool(&s.Become)
	c.text(&s.Hostname)
	optional(c, &s.Network, func(c *codec, n *Network) { n.fields(c) })
}

func (n *Network) fields(c *codec) {
	list(c, &n.Listen, func(c *codec, l *Listen) { c.bytes(&l.IP); c.uint32(&l.Port) })
	c.uint32(&n.OwnFirst)
	c.uint32(&n.OwnLast)
}

func (b *Bind) fields(c *codec) {
	c.text(&b.Target)
	c.text(&b.Source)
	c.int(&b.FD)
	c.number(&b.ID.Dev)
	c.number(&b.ID.Ino)
	c.bool(&b.File)
	c.number(&b.Attr)
	c.int64(&b.Tmpfs)
	c.bool(&b.Make)
	c.bool(&b.Proc)
	c.bool(&b.Copy)
}

func (r *Rule) fields(c *codec) {
	c.text(&r.Path)
	rights := uint32(r.Rights)
	c.uint32(&rights)
	r.Rights = sandbox.Rights(rights)
	c.bool(&r.File)
}

func (s *Start) fields(c *codec) {
	c.text(&s.Path)
	list(c, &s.Argv, (*codec).text)
	list(c, &s.Env, (*codec).text)
	c.text(&s.Dir)
	list(c, &s.Scripts, (*codec).text)
	optional(c, &s.Expect, func(c *codec, e *Expect) {
		for _, n := range []*uint64{&e.Dev, &e.Ino, &e.Size, &e.Mode, &e.MtimeSec, &e.MtimeNsec, &e.CtimeSec, &e.CtimeNsec} {
			c.number(n)
		}
	})
}

func (f *Failed) fields(c *codec) {
	str(c, &f.Stage)
	c.int(&f.Errno)
	c.text(&f.Target)
	c.text(&f.Detail)
}

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
)

// The addresses of the world. The public ones belong to nobody here: nothing leaves the namespaces.
const (
	hostLAN4, hostLAN6   = "192.168.7.1", "fd07::1"
	outLAN4, outLAN6     = "192.168.7.2", "fd07::2"
	listed4, listed6     = "93.184.216.34", "2606:2800:220:1::34"
	unlisted4, unlisted6 = "93.184.216.35", "2606:2800:220:1::35"
	metadata             = "169.254.169.254"
	private              = "10.9.8.7"
)

// order is what the attempting process is told; Inside is the sandbox, else it runs unconfined as the same user.
type order struct {
	Inside bool
	Args   []string
}

type answer struct {
	OK            bool
	Errno, Detail string
	Err           string
}

// try is one attempt of the payload: what it is asked, and the packet by which it is known on the wire.
type try struct {
	name, packet string
	args         []string
}

func tcp(name, host, port string) try {
	to := net.JoinHostPort(host, port)
	return try{name, "tcp " + to, []string{"tcp", to, "token"}}
}

func udp(name, host, port string) try {
	to := net.JoinHostPort(host, port)
	return try{name, "udp " + to, []string{"udp", to, "token"}}
}

// world is the host: args are mode, uid, work directory, product, payload, control group setting and the group's home.
func world(ctx context.Context, t *tally, args []string) error {
	if len(args) != 7 {
		return errors.New("seven arguments are needed")
	}
	o, err := newOutside()
	if err != nil {
		return fmt.Errorf("making the world: %w", err)
	}
	here := &outside{changed: make(chan struct{})} // the host's own servers
	ports := []int{7000, 7001}
	for _, port := range ports {
		if err := here.serve(fmt.Sprint(":", port)); err != nil {
			return err
		}
	}
	a, err := start(ctx, args)
	if err != nil {
		return err
	}
	defer a.close()
	denied, granted := restrictedTries()
	if args[0] == "local" {
		denied, granted = localTries()
	}
	if _, err := o.passed(); err != nil { // the link's own first words
		return err
	}

	// First everything that is refused, all of it, then a look at the wire.
	for _, d := range denied {
		got, err := a.do(order{true, d.args})
		if err != nil {
			return err
		}
		t.check("refused: "+d.name, !got.OK, "it worked: %+v", got)
	}
	seen, err := o.passed()
	if err != nil {
		return err
	}
	heard, err := here.told(ports...)
	if err != nil {
		return err
	}
	t.check("not one packet left for any of them", len(seen) == 0, "%v", seen)
	t.check("and no server of the host heard anything", len(heard) == 0, "%v", heard)
	// The control of each: the same program, unconfined, as the same user, is seen.
	for _, d := range denied {
		if _, err := a.do(order{false, d.args}); err != nil {
			return err
		}
		if d.packet == "" {
			t.check("control: "+d.name, here.waits(&here.heard, "token"), "the host's server heard nothing")
			here.taken(&here.heard)
			continue
		}
		t.check("control: "+d.name, o.waits(&o.packets, d.packet), "the sniffer saw %v", o.taken(&o.packets))
		o.taken(&o.packets)
	}
	if _, err := o.settled(); err != nil {
		return err
	}
	o.taken(&o.heard)
	here.taken(&here.heard)
	for _, g := range granted {
		got, err := a.do(order{true, g.args})
		if err != nil {
			return err
		}
		arrived := g.packet != "" && o.waits(&o.packets, g.packet) && o.waits(&o.heard, "token") || g.packet == "" && here.waits(&here.heard, "token")
		t.check("granted: "+g.name, got.OK && arrived, "%+v, arrived %v", got, arrived)
		left, err := o.settled() // the last words of a connection may come after the answer, and are this attempt's
		if err != nil {
			return err
		}
		stray := slices.DeleteFunc(left, func(p string) bool { return p == g.packet })
		t.check("and nothing else left", len(stray) == 0, "%v", stray)
		o.taken(&o.heard)
		here.taken(&here.heard)
	}
	return nil
}

func restrictedTries() (denied, granted []try) {
	dns := func(server string) try {
		return try{"a question to a name server at " + server, "udp " + net.JoinHostPort(server, "53"), []string{"dns", net.JoinHostPort(server, "53"), "secret.evil.test"}}
	}
	return []try{
			tcp("the listed address, another port", listed4, "8443"), tcp("the listed address, another port, IPv6", listed6, "80"),
			tcp("another address, the listed port", unlisted4, "443"), tcp("another address, the listed port, IPv6", unlisted6, "443"),
			tcp("the metadata address", metadata, "80"), tcp("the metadata address, a name led there", metadata, "443"),
			tcp("a private address, a name led there", private, "443"), tcp("the router", outLAN4, "80"), tcp("the router, IPv6", outLAN6, "80"),
			udp("UDP to the listed pair", listed4, "443"), udp("UDP to the listed pair, IPv6", listed6, "443"), udp("UDP", unlisted4, "53"),
			dns(unlisted4), dns(listed6),
			{"TCP fast open to another address", "tcp " + unlisted4 + ":443", []string{"tcp-fastopen", unlisted4, "443", "token"}},
		}, []try{
			tcp("the listed pair", listed4, "443"), tcp("the listed pair, IPv6", listed6, "443"),
			{"the listed name", "tcp " + listed4 + ":443", []string{"tcp", "api.test:443", "token"}},
			tcp("the listed private address at its port", private, "8443"),
		}
}

func localTries() (denied, granted []try) {
	return []try{
			{"another port of this machine", "", []string{"tcp", "127.0.0.1:7001", "token"}}, {"another port of this machine, IPv6", "", []string{"tcp", "[::1]:7001", "token"}},
			{"the listed port of this machine's address in the LAN", "", []string{"tcp", hostLAN4 + ":7000", "token"}}, {"the same, IPv6", "", []string{"tcp", "[" + hostLAN6 + "]:7000", "token"}},
			tcp("the listed port in the LAN", outLAN4, "7000"), tcp("the listed port in the LAN, IPv6", outLAN6, "7000"), tcp("the listed port outside", listed4, "7000"),
			udp("UDP", outLAN4, "53"), udp("UDP, IPv6", outLAN6, "53"),
		}, []try{
			{"the listed port", "", []string{"tcp", "127.0.0.1:7000", "token"}}, {"the listed port, IPv6", "", []string{"tcp", "[::1]:7000", "token"}}, {"the listed port by name", "", []string{"tcp", "localhost:7000", "token"}},
		}
}

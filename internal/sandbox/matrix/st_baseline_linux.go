package matrix

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"sekisho/internal/sandbox"
	"sekisho/internal/sandbox/policy"
)

var baselineCases = []Case{
	{"ST-27", "each grant of the baseline and of the network taken away and given again", "what needs it fails without and works with it; the negative set holds both times", func(ctx context.Context, env Env, r *Report) {
		baselineGrants(ctx, env, r)
		networkGrants(ctx, env, r)
	}},
}

// shell is named by its place below /usr: its own links are one of the grants.
const shell = "/usr/bin/dash"

// needs are what shows that a grant is needed: a shell script that succeeds only with it. host is a path of the host without
// which there is nothing to grant; "" means that every host has it.
var needs = []struct{ grant, host, script string }{
	{"device null, zero, full", "", "echo x >/dev/null && head -c 1 /dev/zero >/dev/null && ! echo x >/dev/full"},
	{"device random, urandom", "", "head -c 4 /dev/urandom | wc -c | grep -q 4 && head -c 1 /dev/random | wc -c | grep -q 1"},
	{"standard streams", "", "echo x >/dev/stdout && echo x >/dev/stderr && echo y | read y </dev/stdin && test -e /dev/fd/0"},
	{"shared memory", "", "echo x >/dev/shm/f && test -s /dev/shm/f"},
	{"process information", "", "read x </proc/self/comm && test -n \"$x\""},
	{"user database", "", "test \"$(id -un)\" = agent"},
	{"name service", "", "test -s /etc/hosts && test -s /etc/nsswitch.conf && test -e /etc/resolv.conf"},
	{"dynamic linker cache", "/etc/ld.so.cache", "test -s /etc/ld.so.cache && /usr/sbin/ldconfig -p >/tmp/cache && test -s /tmp/cache"},
	{"time zone", "/etc/localtime", "test -s /etc/localtime"},
	{"certificates", "/etc/ssl/certs", "ls /etc/ssl/certs"},
	{"program alternatives", "/etc/alternatives", "ls /etc/alternatives"},
	{"system links", "/lib64", "/bin/sh -c true"},
	{"temporary directory", "", "echo x >/tmp/f && test -s /tmp/f"},
	{"home directory", "", "echo x >\"$HOME/f\" && test -s \"$HOME/f\""},
}

func baselineGrants(ctx context.Context, env Env, r *Report) {
	listed := policy.Baseline(development, sandbox.NetworkNone)
	for _, g := range listed {
		at := slices.IndexFunc(needs, func(n struct{ grant, host, script string }) bool { return n.grant == g.Name })
		if at < 0 {
			r.Fail(g.Name, "nothing shows that this grant is needed")
			continue
		}
		need := needs[at]
		if _, err := os.Stat(need.host); need.host != "" && err != nil {
			continue // this host has nothing of the kind, so nothing is granted
		}
		for _, given := range []bool{false, true} {
			what := g.Name + map[bool]string{false: ", taken away", true: ", given"}[given]
			apart(development, func(w *world) {
				if !given {
					w.policy.Baseline = slices.DeleteFunc(w.policy.Baseline, func(b sandbox.BaselineGrant) bool { return b.Name == g.Name })
				}
				if err := w.open(); err != nil {
					w.Fail(what, "opening the sandbox: %v", err)
					return
				}
				o := w.inside(shell, "-c", need.script)
				w.Check(what, given == (o.fault == nil && o.exit.Code == 0), "%v", o)
				w.negative(what)
			})(ctx, env, r)
			if ctx.Err() != nil {
				return
			}
		}
	}
}

// negative is the negative set in short: file system, IPC, network, process tree.
func (w *world) negative(what string) {
	probes := []probe{
		{what + ": a secret", at("read", "S"), knows, false},
		{what + ": beside the workspace", at("create", "EVIL/n", "x"), exists("EVIL/n"), false},
		{what + ": a read-only root", at("append", "R/f", "x"), func(l *layout, _ output) bool { return reads(l.R+"/f") != "old" }, false},
		{what + ": namespaces", words("unshare", fmt.Sprint(unix.CLONE_NEWUSER)), reached, false},
	}
	if e := w.ear("tcp", net.JoinHostPort("127.0.0.1", "0")); e != nil {
		probes = append(probes, w.sends(what+": the loopback", "tcp", e.address, e))
	}
	w.refused(probes...)
}

//go:build linux

package cgroup

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"
)

// privateBus starts a message bus that nobody else uses and returns its address.
func privateBus(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	config := dir + "/bus.conf"
	if err := os.WriteFile(config, []byte(`<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:path=`+dir+`/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow own="*"/><allow receive_sender="*"/></policy></busconfig>`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("dbus-daemon", "--config-file="+config, "--nofork", "--nopidfile", "--print-address")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("a private bus (Debian package dbus-daemon): %v", err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address)
}

// systemd is a service manager of the private bus: strict about what it is asked, free in what it does.
type systemd struct {
	t          *testing.T
	conn       *dbus.Conn
	subscribed atomic.Bool
	started    atomic.Int32
	result     string // of the job; "" means that it never ends, and nobody waits for it much longer
	leave      context.CancelFunc
	refusal    *dbus.Error
}

func (s *systemd) Subscribe() *dbus.Error {
	s.subscribed.Store(true)
	return nil
}

// signature and properties are those of org.freedesktop.systemd1(5) and systemd.resource-control(5).
func (s *systemd) StartTransientUnit(m dbus.Message, name, mode string, properties []property, more []auxiliary) (dbus.ObjectPath, *dbus.Error) {
	s.started.Add(1)
	if got := m.Headers[dbus.FieldSignature].Value(); got != dbus.ParseSignatureMust("ssa(sv)a(sa(sv))") {
		s.t.Errorf("signature %v", got)
	}
	if !s.subscribed.Load() {
		s.t.Error("nobody is subscribed to the end of the job")
	}
	types := map[string]string{}
	for _, p := range properties {
		types[p.Name] = p.Value.Signature().String() + " " + p.Value.String()
	}
	want := map[string]string{"Description": `s "Sandboxes of agent-mcp"`, "PIDs": "au @au [4711]", "Delegate": "b true", "MemoryAccounting": "b true",
		"TasksAccounting": "b true", "CollectMode": `s "inactive-or-failed"`}
	if diff := cmp.Diff(want, types); diff != "" {
		s.t.Errorf("properties (-want +got):\n%s", diff)
	}
	if name != "agent-mcp-1.scope" || mode != "fail" || len(more) != 0 {
		s.t.Errorf("unit %q, mode %q, more %v", name, mode, more)
	}
	if s.refusal != nil {
		return "", s.refusal
	}
	emit := func(job dbus.ObjectPath, result string) {
		if err := s.conn.Emit(managerPath, managerFace+"."+jobRemoved, uint32(7), job, name, result); err != nil {
			s.t.Error(err)
		}
	}
	emit("/org/freedesktop/systemd1/job/6", "failed") // another one's
	if s.result != "" {
		emit("/org/freedesktop/systemd1/job/7", s.result) // before the reply, which is allowed
	} else {
		time.AfterFunc(300*time.Millisecond, s.leave) // after the reply, but nothing hangs on that
	}
	return "/org/freedesktop/systemd1/job/7", nil
}

// proves A-SBX-02
func TestScopeIsAskedOfSystemd(t *testing.T) {
	for _, tt := range []struct {
		name    string
		systemd *systemd
		want    string // part of the error
	}{
		{"done", &systemd{result: "done"}, ""},
		{"the job fails", &systemd{result: "failed"}, `the job ended as "failed"`},
		{"refused", &systemd{refusal: dbus.NewError("org.freedesktop.DBus.Error.AccessDenied", []any{"not for you"})}, "not for you"},
		{"the job never ends", &systemd{}, "context canceled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			address := privateBus(t)
			conn, err := dbus.Connect(address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			s := tt.systemd
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s.t, s.conn, s.leave = t, conn, cancel
			if err := conn.Export(s, managerPath, managerFace); err != nil {
				t.Fatal(err)
			}
			if reply, err := conn.RequestName(managerName, dbus.NameFlagDoNotQueue); err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
				t.Fatal(reply, err)
			}
			err = startScope(ctx, address, "agent-mcp-1.scope", self)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if n := s.started.Load(); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
	t.Run("no systemd on the bus", func(t *testing.T) {
		if err := startScope(t.Context(), privateBus(t), "agent-mcp-1.scope", self); err == nil || !strings.Contains(err.Error(), "subscribing") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no bus", func(t *testing.T) {
		if err := startScope(t.Context(), "unix:path="+t.TempDir()+"/bus", "agent-mcp-1.scope", self); err == nil || !strings.Contains(err.Error(), "connecting") {
			t.Errorf("got %v", err)
		}
	})
}

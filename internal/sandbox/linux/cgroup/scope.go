//go:build linux

package cgroup

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

// scopeTime bounds the whole conversation with systemd.
const scopeTime = 10 * time.Second

// The parts of org.freedesktop.systemd1(5) that are used.
const (
	managerName  = "org.freedesktop.systemd1"
	managerPath  = dbus.ObjectPath("/org/freedesktop/systemd1")
	managerFace  = managerName + ".Manager"
	jobRemoved   = "JobRemoved"
	scopeDone    = "done"
	systemSocket = "unix:path=/run/dbus/system_bus_socket"
)

// property is one (sv) of StartTransientUnit, auxiliary one (sa(sv)), of which there are none.
type property struct {
	Name  string
	Value dbus.Variant
}

type auxiliary struct {
	Name       string
	Properties []property
}

// systemdScope asks the user's systemd, or for root the system's, to move pid into a new scope with Delegate=yes, and
// returns when that is done. The scope ends with its last process.
func systemdScope(ctx context.Context, name string, pid int) error {
	address, err := busAddress(os.Geteuid(), os.Getenv)
	if err != nil {
		return err
	}
	return startScope(ctx, address, name, pid)
}

func startScope(ctx context.Context, address, name string, pid int) (err error) {
	ctx, cancel := context.WithTimeout(ctx, scopeTime)
	defer cancel()
	conn, err := dbus.Connect(address, dbus.WithContext(ctx))
	if err != nil {
		return fmt.Errorf("connecting to %s: %w", address, err)
	}
	defer conn.Close()
	// Before the call, because the answer may come before it returns.
	signals := make(chan *dbus.Signal, 64)
	conn.Signal(signals)
	if err := conn.AddMatchSignalContext(ctx, dbus.WithMatchSender(managerName), dbus.WithMatchObjectPath(managerPath),
		dbus.WithMatchInterface(managerFace), dbus.WithMatchMember(jobRemoved)); err != nil {
		return fmt.Errorf("listening for %s: %w", jobRemoved, err)
	}
	manager := conn.Object(managerName, managerPath)
	if err := manager.CallWithContext(ctx, managerFace+".Subscribe", 0).Err; err != nil {
		return fmt.Errorf("subscribing: %w", err)
	}
	var job dbus.ObjectPath
	call := manager.CallWithContext(ctx, managerFace+".StartTransientUnit", 0, name, "fail", []property{
		{"Description", dbus.MakeVariant("Sandboxes of agent-mcp")},
		{"PIDs", dbus.MakeVariant([]uint32{uint32(pid)})},
		{"Delegate", dbus.MakeVariant(true)},
		{"MemoryAccounting", dbus.MakeVariant(true)},
		{"TasksAccounting", dbus.MakeVariant(true)},
		{"CollectMode", dbus.MakeVariant("inactive-or-failed")},
	}, []auxiliary{})
	if err := call.Store(&job); err != nil {
		return fmt.Errorf("StartTransientUnit: %w", err)
	}
	for {
		select {
		case s, ok := <-signals:
			if !ok {
				return errors.New("the bus closed the connection")
			}
			var number uint32
			var removed dbus.ObjectPath
			var unit, result string
			if s.Name != managerFace+"."+jobRemoved || dbus.Store(s.Body, &number, &removed, &unit, &result) != nil || removed != job {
				continue
			}
			if result != scopeDone {
				return fmt.Errorf("the job ended as %q", result)
			}
			return nil
		case <-ctx.Done():
			return fmt.Errorf("waiting for the job: %w", ctx.Err())
		}
	}
}

// busAddress is the socket of root's or a user's bus. Of what the environment names only socket files and names are
// taken: other transports start programs, or leave the machine (A-SBX-06).
func busAddress(uid int, getenv func(string) string) (string, error) {
	if uid == 0 {
		return systemSocket, nil
	}
	for address := range strings.SplitSeq(getenv("DBUS_SESSION_BUS_ADDRESS"), ";") {
		if strings.HasPrefix(address, "unix:path=") || strings.HasPrefix(address, "unix:abstract=") {
			return address, nil
		}
	}
	dir := getenv("XDG_RUNTIME_DIR")
	if dir == "" {
		dir = fmt.Sprintf("/run/user/%d", uid)
	}
	path := dir + "/bus"
	if st, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("looking for the user's bus: %w", err)
	} else if st.Mode()&os.ModeSocket == 0 {
		return "", fmt.Errorf("looking for the user's bus: %s is no socket", path)
	}
	return "unix:path=" + dbus.EscapeBusAddressValue(path), nil
}

func nonce() string {
	var b [4]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

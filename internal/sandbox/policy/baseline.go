package policy

import (
	"fmt"

	"sekisho/internal/sandbox"
)

// Baseline lists what every Linux sandbox can reach besides its roots (A-SBX-07, A-POL-08). A grant enters this list only
// under the four conditions of A-SBX-07, and the backend makes nothing visible that is not in it.
func Baseline(profile, access string) []sandbox.BaselineGrant {
	grants := []sandbox.BaselineGrant{
		grant("device null, zero, full", "/dev/null /dev/zero /dev/full", "devices that hold nothing"),
		grant("device random, urandom", "/dev/random /dev/urandom", "the kernel's random numbers"),
		grant("standard streams", "/dev/fd /dev/stdin /dev/stdout /dev/stderr", "links to the process's own descriptors"),
		grant("shared memory", "/dev/shm", "own tmpfs of 64 MiB, not executable"),
		grant("process information", "/proc", "own PID namespace, read-only, process 1 hidden"),
		grant("user database", "/etc/passwd /etc/group", "generated: the task's user only"),
		grant("name service", "/etc/hosts /etc/nsswitch.conf /etc/resolv.conf", "generated: no name server"),
		grant("dynamic linker cache", "/etc/ld.so.cache", "the host's, read-only, if present"),
		grant("time zone", "/etc/localtime", "the host's, read-only, if present"),
		grant("certificates", "/etc/ssl/certs", "the host's public ones, read-only, if present"),
		grant("program alternatives", "/etc/alternatives", "the host's links, read-only, if present"),
		grant("system links", "/bin /sbin /lib /lib64", "links into /usr as on the host"),
	}
	temp := "private directory of the task, removed at its end, not executable"
	home := "private directory of the task, removed at its end"
	if profile == ProfileDevelopment {
		temp = "private directory of the task, removed at its end, executable"
		home = "private directory of the workspace, kept for its next task"
	}
	if access != sandbox.NetworkNone {
		grants = append(grants,
			grant("stream sockets", "AF_INET AF_INET6, TCP", "connections to the listed endpoints only"),
			grant("own servers", fmt.Sprintf("TCP ports %d-%d", sandbox.OwnPortFirst, sandbox.OwnPortLast), "reached from inside the same sandbox only"))
	}
	return append(grants,
		grant("temporary directory", "/tmp", temp),
		grant("home directory", "HOME", home))
}

func grant(name, identifier, condition string) sandbox.BaselineGrant {
	return sandbox.BaselineGrant{Name: name, Identifier: identifier, Origin: "baseline", Condition: condition}
}

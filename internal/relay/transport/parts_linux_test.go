package transport

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sekisho/internal/proctree"
)

const (
	partVar   = "TRANSPORT_TEST_PART"
	workerIs  = "worker"   // starts a child through a supervisor, prints its reports and waits to be killed
	echoIs    = "echo"     // sends each line back
	stubborn  = "stubborn" // ignores TERM and the end of its input
	partHold  = "TRANSPORT_TEST_CHILD"
	littering = "litter" // starts sleepers in sessions of their own, names them, then acts like echo
)

var realPart = func() {}

func init() { playPart = play }

func play() bool {
	switch os.Getenv(partVar) {
	case workerIs:
		os.Setenv(partVar, os.Getenv(partHold))
		conn, child, err := StartChild(context.Background(), ChildOptions{Program: self(), Grace: 100 * time.Millisecond})
		if err != nil {
			fmt.Println("error", err)
			return true
		}
		line, err := conn.Read(context.Background())
		fmt.Println(child.PID(), os.Getpid(), string(line), err)
		forever()
	case echoIs:
		io.Copy(os.Stdout, os.Stdin)
	case stubborn:
		signal.Ignore(syscall.SIGTERM)
		litter()
		forever()
	case littering:
		litter()
		io.Copy(os.Stdout, os.Stdin)
	case "talker":
		fmt.Print(os.Getenv("TRANSPORT_TEST_SAY"))
		fmt.Fprintln(os.Stderr, "last words")
		code, _ := strconv.Atoi(os.Getenv("TRANSPORT_TEST_CODE"))
		if code < 0 {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			forever()
		}
		os.Exit(code)
	case "deaf":
		forever()
	case "real":
		realPart()
	default:
		return false
	}
	return true
}

func litter() {
	cmd := exec.Command("/bin/sh", "-c", `
		setsid sleep 1000 & echo $!
		setsid sh -c 'sleep 1000 & sleep 1000' & echo $!
		(setsid sleep 1000 & echo $!)
		sleep 1000 & echo $!
		true`)
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		fmt.Println("cannot litter")
		return
	}
	var pids []string
	br := bufio.NewReader(out)
	for range 4 {
		line, _ := br.ReadString('\n')
		pids = append(pids, strings.TrimSpace(line))
	}
	fmt.Println(strings.Join(pids, ","))
}

func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

func start(t *testing.T, part string, opts ChildOptions, env ...string) (Conn, *Child) {
	t.Helper()
	opts.Program = self()
	opts.Env = append(append(os.Environ(), partVar+"="+part, "GORACE=atexit_sleep_ms=0"), env...)
	if opts.Grace == 0 {
		opts.Grace = 5 * time.Second
	}
	conn, child, err := StartChild(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(ShuttingDown) })
	return conn, child
}

func identify(t *testing.T, pids ...int) []proctree.ID {
	t.Helper()
	ids := make([]proctree.ID, 0, len(pids))
	for _, pid := range pids {
		id, err := proctree.Identify(pid)
		if err != nil {
			t.Fatalf("process %d: %v", pid, err)
		}
		ids = append(ids, id)
	}
	return ids
}

func gone(t *testing.T, ids []proctree.ID) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, id := range ids {
		if err := proctree.Wait(ctx, id); err != nil {
			t.Errorf("process %v is left: %v", id, err)
			proctree.Kill(id)
		}
	}
}

// forever waits for the end of the process. An empty select would end it itself: without cgo the Go runtime takes a process
// whose every goroutine sleeps for a deadlock.
func forever() {
	for {
		<-time.After(time.Hour)
	}
}

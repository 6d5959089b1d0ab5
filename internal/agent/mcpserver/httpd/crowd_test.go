package httpd

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// Another user's connections take none of the places, however many there are, and none is left behind.
//
// proves A-MCP-05
func TestOtherUsersTakeNoPlaces(t *testing.T) {
	var foreign sync.Map
	h := open(t, func(c *Config) {
		c.Owner = func(tcp *net.TCPConn) (int, error) {
			if _, ok := foreign.Load(tcp.RemoteAddr().String()); ok {
				return 8, nil
			}
			return 7, nil
		}
	})
	for range 3 * MaxConnections {
		// The address is marked before the connection exists.
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		local := l.Addr().(*net.TCPAddr)
		l.Close()
		foreign.Store(local.String(), true)
		c, err := (&net.Dialer{LocalAddr: local}).Dial("tcp", h.listener.Addr().String())
		if err == nil { // else it was reset already
			defer c.Close()
		}
	}
	if answer := h.raw(t, good); !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
		t.Errorf("this user's request: %q", answer)
	}
}

// The bodies of all requests together have a limit. What is only announced does not count.
//
// proves A-MCP-05
func TestBodiesInFlightAreBounded(t *testing.T) {
	h := open(t, nil)
	h.hold, h.entered = make(chan struct{}), make(chan struct{}, 10)
	release := sync.OnceFunc(func() { close(h.hold) })
	defer release()
	var clients sync.WaitGroup
	defer clients.Wait()
	defer release()
	for range 30 { // announced and never sent: no memory
		io.WriteString(h.dial(t), strings.ReplaceAll(head+"Content-Length: 41943040\r\n\r\n{", "PORT", fmt.Sprint(h.port())))
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	url := fmt.Sprintf("http://127.0.0.1:%d/mcp", h.port())
	for range 3 { // 120 MiB
		clients.Go(func() {
			resp, err := client.Post(url, "application/json", bytes.NewReader(make([]byte, MaxBody)))
			if err != nil || resp.StatusCode != 200 {
				t.Errorf("%v, %v", resp, err)
				return
			}
			resp.Body.Close()
		})
		<-h.entered
	}
	resp, err := client.Post(url, "application/json", bytes.NewReader(make([]byte, 16<<20)))
	if err != nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("one more large body: %v, %v; want 503", resp, err)
	} else {
		resp.Body.Close()
	}
	clients.Go(func() { // a small one still fits
		if answer := h.raw(t, good); !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
			t.Errorf("a small body: %q", answer)
		}
	})
	<-h.entered
}

// proves A-MCP-05
func TestTheLongestIdleConnectionMakesRoom(t *testing.T) {
	h := open(t, nil)
	keep := head + "Content-Length: 2\r\n\r\n{}"
	var conns []net.Conn
	for range MaxConnections {
		c := h.dial(t)
		io.WriteString(c, strings.ReplaceAll(keep, "PORT", fmt.Sprint(h.port())))
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v, %v", resp, err)
		}
		<-h.idle // the server notes it just after its answer
		conns = append(conns, c)
	}
	if answer := h.raw(t, good); !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
		t.Errorf("one more connection: %q", answer)
	}
	served := 0
	for _, c := range conns {
		io.WriteString(c, strings.ReplaceAll(good, "PORT", fmt.Sprint(h.port())))
		text, _ := io.ReadAll(c)
		served += bytes.Count(text, []byte("200 OK"))
	}
	if served != MaxConnections-1 {
		t.Errorf("%d of the older connections were served again, want all but one", served)
	}
}

// proves A-MCP-05
func TestAFullHouseIsToldSo(t *testing.T) {
	h := open(t, nil)
	h.hold, h.entered = make(chan struct{}), make(chan struct{}, MaxConnections)
	defer close(h.hold)
	for range MaxConnections {
		io.WriteString(h.dial(t), strings.ReplaceAll(good, "PORT", fmt.Sprint(h.port())))
		<-h.entered
	}
	if answer := h.raw(t, good); !strings.HasPrefix(answer, "HTTP/1.1 503 ") || !strings.Contains(answer, "\r\nRetry-After: ") {
		t.Errorf("one more connection: %q", answer)
	}
	if n := h.count(); n != MaxConnections {
		t.Errorf("%d requests are inside", n)
	}
}

package mcpserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sekisho/internal/agent/mcpserver/httpd"
	"sekisho/internal/agent/mcpserver/sockowner"
)

// BenchmarkHTTP is one request after another on one connection, through the door and through the SDK's handler alone.
func BenchmarkHTTP(b *testing.B) {
	s := newServer(&fakeRuntime{}, io.Discard)
	door, err := httpd.Listen(httpd.Config{Addr: netip.MustParseAddrPort("127.0.0.1:0"), Answer: s, Owner: sockowner.PeerUID, Self: os.Geteuid(),
		Record: func(httpd.Record) {}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- door.Serve() }()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	bare := &http.Server{Handler: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})}
	go bare.Serve(l)
	for name, addr := range map[string]string{"door": door.URL()[len("http://") : len(door.URL())-len(httpd.Path)], "bare": l.Addr().String()} {
		b.Run(name, func(b *testing.B) {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			in := bufio.NewReader(c)
			body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"agent_status","arguments":{"task_id":"` + goodUUID + `"}}}`
			text := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s", addr, len(body), body)
			b.ReportAllocs()
			for b.Loop() {
				io.WriteString(c, text)
				resp, err := http.ReadResponse(in, nil)
				if err != nil || resp.StatusCode != 200 {
					b.Fatal(resp, err)
				}
				io.Copy(io.Discard, resp.Body)
			}
		})
	}
	bare.Close()
	if err := door.Shutdown(context.Background()); err != nil {
		b.Error(err)
	}
	<-served
}

package reports

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"sekisho/internal/relay/uicontract"
	"sekisho/test/fakes/appserver"
	"sekisho/test/headless"
)

const canary = "canary-7d1f0b3a"

// The bearer token is in the handshake and nowhere else: not in the log, not in what front ends get, not in an error, even
// when the attempt fails because of it.
//
// report 47
// proves R-PRI-07
func TestReport47TheTokenIsSeenNowhere(t *testing.T) {
	server := appserver.Start(t, appserver.Scripts(ready(), appserver.StartThread("t"), of.TextTurn("m", "hello"), appserver.Script{appserver.Hold("cut"), appserver.Drop()}))
	var s setup
	s.over(t, server, canary)
	d := startOn(t, server, s)
	d.running()
	d.Turn("t", "u", "completed")
	results := []uicontract.Result{d.Do(uicontract.CmdProbe, nil, nil)}
	server.Release("cut")
	d.Wait("the end", func(v *headless.View) bool { return v.Connection.State == uicontract.AwaitManual })
	write(t, s.profile.TokenFile, "wrong-"+canary+"\n")
	denied := d.Do(uicontract.CmdReconnect, nil, nil)
	d.ended(denied, uicontract.Failed, "connection.unauthorized", "")
	write(t, s.profile.TokenFile, canary+"\r\n\x00second line")
	results = append(results, denied, d.Do(uicontract.CmdReconnect, nil, nil))

	texts := map[string]string{"log": d.log.String()}
	d.look(func(v *headless.View) { texts["events"] = asJSON(t, v) })
	texts["results"] = asJSON(t, results)
	for _, m := range server.Received() {
		texts["frames"] += string(m.Raw)
	}
	for name, text := range texts {
		if text == "" || strings.Contains(text, canary) {
			t.Errorf("the token is in the %s, or nothing is: %d bytes", name, len(text))
		}
	}
}

// The key of the page and the key of a session are in no log, and no address carries a key once the page is there.
//
// report 48
// proves R-LOG-01, R-UI-01
func TestReport48KeysAreInNoLog(t *testing.T) {
	d := start(t, ready())
	address := d.endpoint.Address()
	origin, key, ok := strings.Cut(address, "/#")
	if !ok || key == "" {
		t.Fatalf("the key of %s is not in the fragment", origin)
	}
	body := asJSON(t, uicontract.KeyExchange{Version: uicontract.Version, Key: key})
	req, err := http.NewRequestWithContext(d.Ctx, http.MethodPost, origin+uicontract.PathSession, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{uicontract.Header: "1", "Content-Type": "application/json", "Origin": origin} {
		req.Header.Set(name, value)
	}
	var granted uicontract.SessionGranted
	decode(t, answer(t, req, http.StatusOK), &granted)
	// A key in a query is no key, and is not written down either.
	for _, path := range []string{uicontract.PathStream, uicontract.PathCommand, "/"} {
		req, err := http.NewRequestWithContext(d.Ctx, http.MethodGet, origin+path+"?token="+granted.Session+"&key="+key, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer(t, req, 0)
	}
	for _, secret := range []string{key, granted.Session} {
		if len(secret) != 43 || strings.Contains(d.log.String(), secret) {
			t.Errorf("a key of %d characters is in the log:\n%s", len(secret), d.log)
		}
	}
}

func answer(t *testing.T, req *http.Request, status int) []byte {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || status != 0 && resp.StatusCode != status {
		t.Fatalf("%s: %d %s, %v", req.URL.Path, resp.StatusCode, body, err)
	}
	return body
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

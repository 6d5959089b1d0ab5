package scriptmodel

import (
	"encoding/json"
	"io"
	"net/http"
)

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, s)
	}
}

func (v *Server) json(value func() any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		send(w, answer{status: http.StatusOK, contentType: jsonType, body: mustJSON(value())})
	}
}

func (v *Server) tags() any { return map[string]any{"models": []any{v.entry()}} }

func (v *Server) ps() any {
	e := v.entry()
	delete(e, "modified_at")
	e["expires_at"], e["size_vram"], e["context_length"] = "2026-01-01T00:00:00Z", 0, v.script.window(&ChatRequest{})
	return map[string]any{"models": []any{e}}
}

func (v *Server) entry() map[string]any {
	name := fullName(v.script.Model)
	return map[string]any{
		"name": name, "model": name, "modified_at": "2026-01-01T00:00:00Z", "size": 1, "digest": "0000000000000000000000000000000000000000000000000000000000000000",
		"details": map[string]any{"parent_model": "", "format": "gguf", "family": "scripted", "families": []string{"scripted"}, "parameter_size": "0", "quantization_level": "none"},
	}
}

func (v *Server) show(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model string `json:"model"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&q); err != nil {
		send(w, errorAnswer(http.StatusBadRequest, err.Error()))
		return
	}
	switch {
	case q.Model == "":
		send(w, errorAnswer(http.StatusBadRequest, "model is required"))
	case fullName(q.Model) != fullName(v.script.Model):
		send(w, errorAnswer(http.StatusNotFound, "model '"+q.Model+"' not found"))
	default:
		info := map[string]any{
			"modelfile": "# scripted", "template": "{{ .Prompt }}", "modified_at": "2026-01-01T00:00:00Z", "tensors": []any{},
			"details":    v.entry()["details"],
			"model_info": map[string]any{"general.architecture": "scripted", "scripted.context_length": v.script.ContextLength},
		}
		if v.script.Capabilities != nil {
			info["capabilities"] = *v.script.Capabilities
		}
		send(w, answer{status: http.StatusOK, contentType: jsonType, body: mustJSON(info)})
	}
}

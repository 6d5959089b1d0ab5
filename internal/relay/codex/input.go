package codex

// UserInput is one part of a message to the model; the constructors below make the kinds that this client sends. A kind
// that is not known is kept by its name only.
type UserInput struct {
	Type   string `json:"type"`
	Text   string `json:"text,omitzero"`
	URL    string `json:"url,omitzero"`
	FileID string `json:"fileId,omitzero"`
	Path   string `json:"path,omitzero"`
	Name   string `json:"name,omitzero"`
	Detail string `json:"detail,omitzero"`
}

func (UserInput) variants() Variants {
	return Variants{Tag: "type", Open: true, Required: map[string][]string{
		"text": {"text"}, "image": nil, "localImage": {"path"}, "audio": nil, "localAudio": {"path"},
		"skill": {"name", "path"}, "mention": {"name", "path"}},
		Sends: map[string][]string{"text": {"text"}, "image": {"url"}, "localImage": {"path"}, "skill": {"name", "path"}, "mention": {"name", "path"}}}
}

// TextInput is plain text.
func TextInput(s string) UserInput { return UserInput{Type: "text", Text: s} }

// LocalImageInput is an image file by its server path.
func LocalImageInput(path string) UserInput { return UserInput{Type: "localImage", Path: path} }

// ImageInput is an image by URL; a data URL carries the image itself.
func ImageInput(url string) UserInput { return UserInput{Type: "image", URL: url} }

// SkillInput names a skill; the path is the server's own identifier and need not exist here (R-OWN-01).
func SkillInput(name, path string) UserInput { return UserInput{Type: "skill", Name: name, Path: path} }

// MentionInput names a file or app of the server.
func MentionInput(name, path string) UserInput {
	return UserInput{Type: "mention", Name: name, Path: path}
}

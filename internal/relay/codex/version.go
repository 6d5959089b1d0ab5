package codex

// Versions with a pinned contract. Target is what initialize announces as the client's version: the server's model
// catalogue depends on it (R-CON-04).
const (
	Target     = "0.159.1"
	Regression = "0.155.1"
)

// Surface is which generated contract a method belongs to.
type Surface string

// The surfaces.
const (
	Standard     Surface = "standard"
	Experimental Surface = "experimental" // needs the capability experimentalApi
)

// Support is what is known about a method on a version without asking the server.
type Support int

// SupportUnknown is the answer for every version without a pinned contract; it is neither yes nor no (R-PRI-03).
const (
	SupportUnknown Support = iota
	Supported
	Unsupported
)

// Pinned reports whether version has a pinned contract.
func Pinned(version string) bool { return version == Target || version == Regression }

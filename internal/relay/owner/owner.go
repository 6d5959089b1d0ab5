// Package owner says whose state something is, and keeps the state of different owners apart (R-PRI-05). It is pure.
package owner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"sekisho/internal/relay"
)

// Identity is what account/read and the provider say about who is signed in. The zero value is "nobody": a provider that
// needs no account.
type Identity struct {
	Type     string // apiKey, chatgpt, amazonBedrock, …; "" is no account
	Email    string // as the server wrote it; "" when the account has none
	Provider string // id of the model provider or gateway that authenticates, "" for the default one
}

// ErrProfile reports an owner without a profile or root: state without a place cannot be kept apart.
var ErrProfile = errors.New("an owner needs a profile and a root")

// Derive returns the owner of all state that is obtained through profile while id is signed in and root is the working
// root, in its normalised form. Plan, tokens and the like are no part of it: they change without another person.
//
// Account and Principal are fingerprints, so that an owner can be compared and logged without an e-mail address in it.
func Derive(profile string, id Identity, root string) (relay.Owner, error) {
	if profile == "" || root == "" {
		return relay.Owner{}, ErrProfile
	}
	// Addresses that differ in the case of letters only are one account: a server that spells it differently after a
	// refresh must not clear everything.
	return relay.Owner{
		Profile:   profile,
		Account:   fingerprint("account", id.Type, strings.ToLower(id.Email)),
		Principal: fingerprint("principal", id.Type, id.Provider),
		Root:      root,
	}, nil
}

// fingerprint is a short digest of parts, none of which can run into the next.
func fingerprint(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(strconv.Itoa(len(p)) + ":" + p))
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

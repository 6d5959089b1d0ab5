package web

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"
)

// digest is how a key is kept: the key itself is nowhere in memory once it was handed out, and looking a digest up tells
// nothing by its timing.
type digest [sha256.Size]byte

// keys are the one-time keys and the session keys of one endpoint.
type keys struct {
	life time.Duration
	now  func() time.Time

	mu       sync.Mutex
	once     map[digest]time.Time // until when
	sessions map[digest]bool
	closed   bool
}

// Limits of what can be outstanding.
const (
	maxOnce     = 64
	maxSessions = 1024
)

func newKeys(life time.Duration, now func() time.Time) *keys {
	return &keys{life: life, now: now, once: map[digest]time.Time{}, sessions: map[digest]bool{}}
}

// issue makes a one-time key. With maxOnce outstanding the one that ends first is given up.
func (k *keys) issue() string {
	key, sum := newKey()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.expire()
	if len(k.once) >= maxOnce {
		var first digest
		for d, until := range k.once {
			if f, ok := k.once[first]; !ok || until.Before(f) {
				first = d
			}
		}
		delete(k.once, first)
	}
	if !k.closed {
		k.once[sum] = k.now().Add(k.life)
	}
	return key
}

// exchange trades a one-time key for a session key, exactly once under any race.
func (k *keys) exchange(key string) (session string, ok bool) {
	sum := sha256.Sum256([]byte(key))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.expire()
	if _, known := k.once[sum]; !known || k.closed || len(k.sessions) >= maxSessions {
		return "", false
	}
	delete(k.once, sum)
	session, sum = newKey()
	k.sessions[sum] = true
	return session, true
}

// valid reports whether key is a session key.
func (k *keys) valid(key string) bool {
	sum := sha256.Sum256([]byte(key))
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.sessions[sum]
}

// revoke ends all keys for good.
func (k *keys) revoke() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	clear(k.once)
	clear(k.sessions)
}

func (k *keys) expire() {
	now := k.now()
	for d, until := range k.once {
		if !now.Before(until) {
			delete(k.once, d)
		}
	}
}

func newKey() (string, digest) {
	var b [32]byte
	rand.Read(b[:]) // never fails (crypto/rand documentation)
	key := base64.RawURLEncoding.EncodeToString(b[:])
	return key, sha256.Sum256([]byte(key))
}

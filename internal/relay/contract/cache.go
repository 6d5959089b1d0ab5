package contract

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sekisho/internal/atomicfile"
	"sekisho/internal/fault"
	"sekisho/internal/fileop"
	"sekisho/internal/relay/codex"
	"sekisho/internal/statedir"
	"sekisho/internal/strictjson"
)

// Files of a cached surface. The bundle is the generator's; the other two are ours. The sentinel is written last and holds
// the metadata's digest.
const (
	bundleFile   = "codex_app_server_protocol.schemas.json"
	metadataFile = "metadata.json"
	sentinelFile = "complete"
)

// Cache holds generated schemas in schemas/<version>/<surface> below its root.
type Cache struct {
	fsys     fileop.FS
	root     string
	manifest *Manifest
}

// metadata describes a cached surface. Every member must agree for the surface to be used.
type metadata struct {
	Format       int           `json:"format"`
	Version      string        `json:"version"`
	Surface      codex.Surface `json:"surface"`
	Arguments    []string      `json:"arguments"`
	BinarySHA256 string        `json:"binary_sha256"`
	BundleSHA256 string        `json:"bundle_sha256"`
}

// CacheRoot is the user's cache directory for this program.
func CacheRoot() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "sekisho"), nil
}

// OpenCache names the cache below root; nothing is made yet.
func OpenCache(fsys fileop.FS, root string, m *Manifest) *Cache {
	return &Cache{fsys: fsys, root: root, manifest: m}
}

// Path is the directory of a surface.
func (c *Cache) Path(version string, surface codex.Surface) string {
	return filepath.Join(c.root, "schemas", version, string(surface))
}

// Schema reads a cached surface. An absent or invalid one is contract.not_generated.
func (c *Cache) Schema(version string, surface codex.Surface) (*Schema, error) {
	dir := c.Path(version, surface)
	bundle, err := c.valid(dir, version, surface)
	if err != nil {
		return nil, fault.New(fault.ContractMissing, fault.Target(version+"/"+string(surface)), fault.Cause(err))
	}
	return ParseSchema(bundle)
}

// valid checks sentinel, metadata and bundle and returns the bundle.
func (c *Cache) valid(dir, version string, surface codex.Surface) ([]byte, error) {
	sentinel, err := atomicfile.Read(filepath.Join(dir, sentinelFile), 1<<10)
	if err != nil {
		return nil, err
	}
	meta, err := atomicfile.Read(filepath.Join(dir, metadataFile), 1<<16)
	if err != nil {
		return nil, err
	}
	if string(sentinel) != digest(meta) {
		return nil, errors.New("the sentinel is not of this metadata")
	}
	bundle, err := atomicfile.Read(filepath.Join(dir, bundleFile), maxBundle)
	if err != nil {
		return nil, err
	}
	want, err := strictjson.Marshal(c.describe(version, surface, digest(bundle)))
	if err != nil {
		return nil, err
	}
	if string(meta) != string(want) {
		return nil, errors.New("the metadata is of another version, surface, generator or file")
	}
	return bundle, nil
}

func (c *Cache) describe(version string, surface codex.Surface, bundle string) metadata {
	p, _ := c.manifest.Find(version, platformName)
	return metadata{c.manifest.Format, version, surface, c.manifest.Arguments[surface], p.BinarySHA256, bundle}
}

// Ensure returns a surface of a pinned version, generating it with binary if the cache has no valid one. The binary's
// SHA-256 must be the manifest's before it is run (R-CON-02). The new surface is built beside the old one and renamed
// into place; a reader sees a whole surface or none.
func (c *Cache) Ensure(ctx context.Context, binary, version string, surface codex.Surface) (*Schema, error) {
	if s, err := c.Schema(version, surface); err == nil {
		return s, nil
	}
	if err := c.manifest.Verify(binary, version); err != nil {
		return nil, err
	}
	parent, unlock, err := c.locked(ctx, "schemas", version)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if s, err := c.Schema(version, surface); err == nil {
		return s, nil // somebody else made it meanwhile
	}
	temp := "." + string(surface) + "." + randomName()
	if err := c.fsys.Mkdir(parent, temp, 0o700); err != nil {
		return nil, err
	}
	defer removeTree(c.fsys, parent, temp)
	if err := c.fill(ctx, binary, version, surface, filepath.Join(parent.Name(), temp)); err != nil {
		return nil, err
	}
	if err := c.swap(parent, temp, string(surface)); err != nil {
		return nil, err
	}
	return c.Schema(version, surface)
}

// locked opens a directory of the cache in which nobody else generates until unlock, which closes it.
func (c *Cache) locked(ctx context.Context, below ...string) (parent *os.File, unlock func(), err error) {
	parent, err = statedir.OpenPrivate(c.fsys, filepath.Join(append([]string{c.root}, below...)...))
	if err != nil {
		return nil, nil, err
	}
	release, err := c.lock(ctx, parent)
	if err != nil {
		return nil, nil, errors.Join(err, parent.Close())
	}
	return parent, func() { release(); parent.Close() }, nil
}

// lock waits until nobody else generates in parent, and removes what interrupted runs have left there.
func (c *Cache) lock(ctx context.Context, parent *os.File) (unlock func(), err error) {
	f, err := c.fsys.OpenAppend(parent, "lock", 0o600)
	if err != nil {
		return nil, err
	}
	if err := fileop.Lock(ctx, f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	entries, err := os.ReadDir(parent.Name())
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			if err := removeTree(c.fsys, parent, e.Name()); err != nil {
				return nil, errors.Join(err, f.Close())
			}
		}
	}
	return func() { f.Close() }, nil // closing unlocks
}

func (c *Cache) fill(ctx context.Context, binary, version string, surface codex.Surface, path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := c.generate(ctx, binary, c.manifest.Arguments[surface], dir); err != nil {
		return err
	}
	bundle, err := readBundle(ctx, path, binary)
	if err != nil {
		return err
	}
	meta, err := strictjson.Marshal(c.describe(version, surface, digest(bundle)))
	if err != nil {
		return err
	}
	if err := atomicfile.Write(c.fsys, dir, metadataFile, meta, 0o600); err != nil {
		return err
	}
	return atomicfile.Write(c.fsys, dir, sentinelFile, []byte(digest(meta)), 0o600)
}

// swap renames temp to name. An old surface is moved aside first: two renames, between which there is none.
func (c *Cache) swap(parent *os.File, temp, name string) error {
	old := "." + name + "." + randomName()
	err := c.fsys.Rename(parent, name, parent, old, false)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		defer removeTree(c.fsys, parent, old)
	}
	if err := c.fsys.Rename(parent, temp, parent, name, false); err != nil {
		return err
	}
	return c.fsys.Sync(parent)
}

// Verify compares the binary with the manifest without running it. A version without a package for this platform is an
// error too: what is not pinned is not a contract.
func (m *Manifest) Verify(binary, version string) error {
	p, ok := m.Find(version, platformName)
	if !ok || p.Role != "contract" {
		return fault.New(fault.ContractFailed, fault.Target(version), fault.Arg("reason", "it is not a pinned version on "+platformName))
	}
	f, err := os.Open(binary)
	if err != nil {
		return failed(binary, err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return failed(binary, err)
	}
	if found := hex.EncodeToString(h.Sum(nil)); found != p.BinarySHA256 {
		return fault.New(fault.ContractDigest, fault.Target(binary), fault.Arg("found", found), fault.Arg("pinned", p.BinarySHA256))
	}
	return nil
}

// readBundle reads what the generator of binary has left in dir: any program's work, so only a regular file is read.
func readBundle(ctx context.Context, dir, binary string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, failed(binary, err)
	}
	bundle, err := atomicfile.Read(filepath.Join(dir, bundleFile), maxBundle)
	if err != nil {
		return nil, failed(binary, err)
	}
	return bundle, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func randomName() string {
	var b [8]byte
	rand.Read(b[:]) // never fails (crypto/rand documentation)
	return hex.EncodeToString(b[:])
}

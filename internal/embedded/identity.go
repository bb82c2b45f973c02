package embedded

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// identity is how Postgres is run, which refuses to run as root, or (its initdb)
// as a user who has no name.
type identity uint8

const (
	identityUnknown   identity = iota
	identityOurs               // as whom we run
	identityNamespace          // in a user namespace where we have the number of a user who will do
	identityOther              // as that user, who then owns the data; only root can
)

// findIdentity finds what this machine needs and allows, by trying.
func findIdentity(ctx context.Context) (identity, error) {
	uid := os.Geteuid()
	_, err := user.LookupId(strconv.Itoa(uid))
	if uid != 0 && err == nil {
		return identityOurs, nil
	}
	if cmd, err := identityNamespace.command(ctx, "/", "/bin/true"); err == nil && cmd.Run() == nil {
		return identityNamespace, nil
	}
	if uid != 0 {
		return 0, fmt.Errorf("postgres cannot make its files as user %d, who has no name, and this machine allows no user "+
			"namespaces: give the user a line in /etc/passwd, or configure LIVEGRAPH_POSTGRES_URL", uid)
	}
	return identityOther, nil
}

// standIn is a user who is not root and has a name.
func standIn() (uid, gid int, err error) {
	for _, name := range []string{"nobody", "daemon", "bin"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.Atoi(u.Uid)
			gid, _ := strconv.Atoi(u.Gid)
			if uid > 0 && gid > 0 {
				return uid, gid, nil
			}
		}
	}
	return 0, 0, errors.New("postgres does not run as root, and there is no user nobody, daemon or bin to run it as")
}

// command makes a command that works on the files in data as this identity.
func (i identity) command(ctx context.Context, data, program string, args ...string) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = "/", childEnv()
	if i == identityOurs {
		return cmd, nil
	}
	uid, gid, err := standIn()
	if err != nil {
		return nil, err
	}
	if i == identityNamespace {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: os.Getegid(), Size: 1}},
		}
		return cmd, nil
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	if !reachable(data) {
		// Its data are below a folder that is root's alone: let it pass.
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_DAC_OVERRIDE}
	}
	return cmd, nil
}

// program returns the folder of programs from which this identity can run: from
// itself, or a copy of it in near or, where not even that can be reached, in the
// folder for temporary files.
func (i identity) program(from, near, version string) (string, error) {
	if i != identityOther || reachable(filepath.Join(from, "bin", "postgres")) {
		return from, nil
	}
	to := filepath.Join(near, "install")
	if !reachable(to) {
		to = filepath.Join(os.TempDir(), "livegraph-postgres-"+version)
	}
	if !reachable(to) {
		return "", errors.New("postgres does not run as root, and no other user can reach its programs" + i.hint())
	}
	info, err := os.Lstat(to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return to, copyProgram(from, to)
	case err != nil:
		return "", err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != 0 || !info.IsDir() || info.Mode().Perm()&0o022 != 0 {
		return "", fmt.Errorf("%s is not a folder that only root can write to: remove it", to)
	}
	return to, nil
}

// copyProgram makes the copy under another name first, so that an interrupted
// one is not taken for a whole.
func copyProgram(from, to string) error {
	fresh, err := os.MkdirTemp(filepath.Dir(to), filepath.Base(to)+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	whole := filepath.Join(fresh, "whole")
	if err := os.CopyFS(whole, os.DirFS(from)); err != nil {
		return fmt.Errorf("copying %s: %w", from, err)
	}
	if err := os.Chmod(whole, 0o755); err != nil {
		return err
	}
	if err := os.Rename(whole, to); err != nil && !errors.Is(err, fs.ErrExist) { // another process was first
		return err
	}
	return nil
}

// reachable reports whether any user can pass through all folders of a path.
func reachable(path string) bool {
	for dir := path; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && dir != path && info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

// own changes the owner of dir and all below it to the identity, where it is another.
func (i identity) own(dir string) error {
	uid, gid := os.Geteuid(), os.Getegid()
	if uid != 0 {
		return nil
	}
	if i == identityOther {
		var err error
		if uid, gid, err = standIn(); err != nil {
			return err
		}
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) == uid {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, gid)
	})
}

// hint reports what to do when a program of this identity does not run.
func (i identity) hint() string {
	if i != identityOther {
		return ""
	}
	return "\nPostgres refuses to run as root, this machine allows no user namespaces, and it was run as another user: " +
		"allow others to pass to the data directory, run livegraph as an ordinary user, or configure LIVEGRAPH_POSTGRES_URL"
}

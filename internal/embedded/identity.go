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

	"github.com/livegraph/livegraph/internal/embedded/supervisor"
)

// identity is the user that runs Postgres. Postgres does not run as root, and initdb
// does not run as a user without a name.
type identity uint8

const (
	identityUnknown   identity = iota
	identityCurrent            // the user of this process
	identityNamespace          // the user of this process, mapped to an unprivileged one in a user namespace
	identityOtherUser          // an unprivileged user, who owns the data; only possible as root
)

// findIdentity returns the first identity that works on this machine.
func findIdentity(ctx context.Context) (identity, error) {
	uid := os.Geteuid()
	_, err := user.LookupId(strconv.Itoa(uid))
	if uid != 0 && err == nil {
		return identityCurrent, nil
	}
	if cmd, err := identityNamespace.command(ctx, "/", "/bin/true"); err == nil && cmd.Run() == nil {
		return identityNamespace, nil
	}
	if uid != 0 {
		return 0, fmt.Errorf("postgres cannot make its files as user %d, who has no name, and this machine allows no user "+
			"namespaces: give the user a line in /etc/passwd, or configure LIVEGRAPH_POSTGRES_URL", uid)
	}
	return identityOtherUser, nil
}

// unprivilegedUser returns a user who is not root and has a name.
func unprivilegedUser() (uid, gid int, err error) {
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

// command returns a command that runs as this identity and uses the files in data.
func (i identity) command(ctx context.Context, data, program string, args ...string) (*exec.Cmd, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = "/", supervisor.Env()
	if i == identityCurrent {
		return cmd, nil
	}
	uid, gid, err := unprivilegedUser()
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
		// The data are in a folder that only root can access: allow access.
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_DAC_OVERRIDE}
	}
	return cmd, nil
}

// program returns a folder of programs that this identity can run: from, or a copy of
// it in near, or, if near is not reachable either, a copy in the folder for temporary
// files.
func (i identity) program(from, near, version string) (string, error) {
	if i != identityOtherUser || reachable(filepath.Join(from, "bin", "postgres")) {
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

// copyProgram copies to another name first, so that an interrupted copy is not mistaken
// for a complete one.
func copyProgram(from, to string) error {
	tempDir, err := os.MkdirTemp(filepath.Dir(to), filepath.Base(to)+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tempDir)
	complete := filepath.Join(tempDir, "complete")
	if err := os.CopyFS(complete, os.DirFS(from)); err != nil {
		return fmt.Errorf("copying %s: %w", from, err)
	}
	if err := os.Chmod(complete, 0o755); err != nil {
		return err
	}
	if err := os.Rename(complete, to); err != nil && !errors.Is(err, fs.ErrExist) { // another process has created it
		return err
	}
	return nil
}

// reachable reports whether all users can traverse the folders of a path.
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

// chown changes the owner of dir and everything below it to the identity, if necessary.
func (i identity) chown(dir string) error {
	uid, gid := os.Geteuid(), os.Getegid()
	if uid != 0 {
		return nil
	}
	if i == identityOtherUser {
		var err error
		if uid, gid, err = unprivilegedUser(); err != nil {
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

// hint returns advice for the case that a program does not run as this identity.
func (i identity) hint() string {
	if i != identityOtherUser {
		return ""
	}
	return "\nPostgres refuses to run as root, this machine allows no user namespaces, and it was run as another user: " +
		"allow others to pass to the data directory, run livegraph as an ordinary user, or configure LIVEGRAPH_POSTGRES_URL"
}

package embedded

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// identity is how a program that refuses to run as root is run.
type identity uint8

const (
	identityUnknown   identity = iota
	identityOurs               // as whom we run: not root
	identityNamespace          // we are root: in a user namespace where root has another number
	identityOther              // we are root: as another user, who owns the data
)

// otherID is the user and group that stand for root: in the namespace, or
// outside when there are no namespaces. Any but 0 will do, it needs no name.
const otherID = 1000

// findIdentity finds what this machine allows, by trying.
func findIdentity(ctx context.Context) identity {
	if os.Geteuid() != 0 {
		return identityOurs
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Path = "/bin/true"
	cmd.SysProcAttr = identityNamespace.attributes()
	if cmd.Run() == nil {
		return identityNamespace
	}
	return identityOther
}

// attributes are what a command of this identity is started with.
func (i identity) attributes() *syscall.SysProcAttr {
	switch i {
	case identityNamespace:
		return &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: otherID, HostID: os.Geteuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: otherID, HostID: os.Getegid(), Size: 1}},
		}
	case identityOther:
		return &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: otherID, Gid: otherID},
			// So that it reaches its files below folders that are root's alone.
			AmbientCaps: []uintptr{unix.CAP_DAC_OVERRIDE},
		}
	default:
		return &syscall.SysProcAttr{}
	}
}

// own gives dir and all below to the identity, where somebody else has it.
func (i identity) own(dir string) error {
	uid := os.Geteuid()
	switch {
	case uid != 0:
		return nil
	case i == identityOther:
		uid = otherID
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
		return os.Lchown(path, uid, uid)
	})
}

// hint says what to do when a program of this identity does not run.
func (i identity) hint() string {
	if i != identityOther {
		return ""
	}
	return fmt.Sprintf("\nPostgres refuses to run as root, this machine allows no user namespaces, and it was run as user %d: "+
		"allow that user to reach the data directory, run livegraph as an ordinary user, or configure LIVEGRAPH_POSTGRES_URL", otherID)
}

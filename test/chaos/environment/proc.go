package environment

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// processTree returns a process and all its descendants. (Postgres puts each of its processes into
// a separate process group.)
func processTree(pid int) []int {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// the name may contain any character
		at := strings.LastIndexByte(string(raw), ')')
		fields := strings.Fields(string(raw)[at+1:])
		if len(fields) < 2 {
			continue
		}
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		parent, _ := strconv.Atoi(fields[1])
		children[parent] = append(children[parent], child)
	}
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// pause stops a process and all its descendants with SIGSTOP; resume continues the same processes.
func pause(pid int) (resume func()) {
	if pid == 0 {
		return func() {}
	}
	stopped := processTree(pid)
	for _, pid := range stopped {
		_ = syscall.Kill(pid, syscall.SIGSTOP)
	}
	return func() {
		for _, pid := range stopped {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}

// readVitals returns the resident memory of a process, in bytes, and its number of open files.
func readVitals(pid int) (rss int64, files int) {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0, 0
	}
	if fields := strings.Fields(string(raw)); len(fields) > 1 {
		pages, _ := strconv.ParseInt(fields[1], 10, 64)
		rss = pages * int64(os.Getpagesize())
	}
	open, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	if err != nil {
		return rss, 0
	}
	return rss, len(open)
}

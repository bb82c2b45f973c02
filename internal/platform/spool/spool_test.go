package spool_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/internal/platform/spool"
)

var small = spool.Options{MaxBytes: 1 << 20, SegmentBytes: 256, Sync: time.Hour}

// T is the common interface of testing.T and rapid.T.
type T interface {
	require.TestingT
	Helper()
}

func open(t T, dir string, opts spool.Options) *spool.Spool {
	t.Helper()
	s, err := spool.Open(dir, opts)
	require.NoError(t, err)
	return s
}

// drain reads all records, at most limit at a time, and marks them as done.
func drain(t T, s *spool.Spool, limit int) []string {
	t.Helper()
	var all []string
	for s.Pending() > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		b, err := s.Next(ctx, limit, 0)
		cancel()
		require.NoError(t, err)
		for _, r := range b.Records {
			all = append(all, string(r))
		}
		require.NoError(t, s.Done(b))
	}
	return all
}

func segments(t T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*.seg"))
	require.NoError(t, err)
	return found
}

func TestRecordsAreReadInOrderAndTheirSegmentsRemoved(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprintf("record %d", i))
		require.NoError(t, s.Append([]byte(want[i])))
	}
	require.Greater(t, len(segments(t, dir)), 5)
	require.Equal(t, want, drain(t, s, 7))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := s.Next(ctx, 1, 0)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Len(t, segments(t, dir), 1, "only the active one is left")
	require.NoError(t, s.Close())
	require.Empty(t, segments(t, dir))
	require.ErrorIs(t, s.Append([]byte("late")), spool.ErrClosed)
}

func TestUnfinishedItemsAreReturnedAgain(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	for i := range 40 {
		require.NoError(t, s.Append([]byte(fmt.Sprint(i))))
	}
	b, err := s.Next(t.Context(), 10, 0)
	require.NoError(t, err)
	require.NoError(t, s.Done(b))
	for range 2 {
		b, err = s.Next(t.Context(), 1, 0)
		require.NoError(t, err)
		require.Equal(t, "10", string(b.Records[0]))
	}
	require.NoError(t, s.Close())
	again := open(t, dir, small)
	require.Equal(t, "10", drain(t, again, 3)[0])
	require.NoError(t, again.Close())
}

func TestManyAppendAtATime(t *testing.T) {
	for name, pace := range map[string]time.Duration{
		"synced now and then": time.Millisecond, "synced before the answer": 0,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir(), spool.Options{MaxBytes: 1 << 30, SegmentBytes: 4 << 10, Sync: pace})
			const writers, each = 16, 60
			var work sync.WaitGroup
			for w := range writers {
				work.Go(func() {
					for i := range each {
						if err := s.Append([]byte(fmt.Sprintf("%d/%d", w, i))); err != nil {
							panic(err)
						}
					}
				})
			}
			seen := map[string]bool{}
			next := make([]int, writers)
			for len(seen) < writers*each {
				b, err := s.Next(t.Context(), 50, 0)
				require.NoError(t, err)
				for _, r := range b.Records {
					var w, i int
					_, err := fmt.Sscanf(string(r), "%d/%d", &w, &i)
					require.NoError(t, err)
					require.Equal(t, next[w], i, "each writer's are in order")
					next[w]++
					seen[string(r)] = true
				}
				require.NoError(t, s.Done(b))
			}
			work.Wait()
			require.Zero(t, s.Pending())
			require.NoError(t, s.Close())
		})
	}
}

// failingDisk simulates a disk that loses the data of a failed sync and reports success for
// later syncs of the same file, as Linux does.
type failingDisk struct {
	mu     sync.Mutex
	fail   bool
	synced map[string]int64  // bytes of each file that are on the disk
	lost   map[*os.File]bool // files whose further bytes are never written
	failed int
}

func (d *failingDisk) sync(f *os.File) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail {
		d.failed++
		d.lost[f] = true
		return errors.New("input/output error")
	}
	info, err := f.Stat()
	if err == nil && !d.lost[f] {
		d.synced[f.Name()] = info.Size()
	}
	return err
}

func (d *failingDisk) set(fail bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = fail
}

// crash returns a copy of the folder with only the synced bytes.
func (d *failingDisk) crash(t *testing.T, dir string) string {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	after := t.TempDir()
	for _, path := range segments(t, dir) {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(after, filepath.Base(path)), raw[:d.synced[path]], 0o600))
	}
	return after
}

func TestWhatAFailedSyncLostIsWrittenAgain(t *testing.T) {
	disk := &failingDisk{synced: map[string]int64{}, lost: map[*os.File]bool{}}
	dir := t.TempDir()
	opts := spool.Options{MaxBytes: 1 << 20, Sync: time.Millisecond}.WithSync(disk.sync)
	s := open(t, dir, opts)
	var want []string
	add := func() {
		want = append(want, fmt.Sprintf("record %d", len(want)))
		require.NoError(t, s.Append([]byte(want[len(want)-1])))
	}
	add()
	first := segments(t, dir)[0]
	synced := func() bool { disk.mu.Lock(); defer disk.mu.Unlock(); return disk.synced[first] > 16 }
	require.Eventually(t, synced, time.Minute, time.Millisecond)
	disk.set(true)
	add()
	require.Eventually(t, s.Failing, time.Minute, time.Millisecond, "a sync that fails in the background shows")
	require.Positive(t, s.SyncFailures())
	disk.set(false)
	s.Probe()
	require.False(t, s.Failing())
	add()
	require.Eventually(t, func() bool {
		after := disk.crash(t, dir)
		again := open(t, after, spool.Options{MaxBytes: 1 << 20})
		defer func() { require.NoError(t, again.Close()) }()
		found := drain(t, again, 10)
		return slices.Contains(found, want[0]) && slices.Contains(found, want[1]) && slices.Contains(found, want[2])
	}, time.Minute, 10*time.Millisecond, "each record that was acknowledged is on the disk after the next sync")
	live := drain(t, s, 10)
	for _, record := range want {
		require.Contains(t, live, record)
	}
	require.NoError(t, s.Close())
	require.Empty(t, segments(t, dir), "what is done is removed, the segment that failed included")
}

func TestRecordsThatAreNotSyncedAreKeptWhileTheDiskFails(t *testing.T) {
	disk := &failingDisk{synced: map[string]int64{}, lost: map[*os.File]bool{}, fail: true}
	dir := t.TempDir()
	s := open(t, dir, spool.Options{MaxBytes: 1 << 20, Sync: time.Millisecond}.WithSync(disk.sync))
	require.NoError(t, s.Append([]byte("first")))
	require.Eventually(t, s.Failing, time.Minute, time.Millisecond)
	require.Error(t, s.Append([]byte("refused")), "nothing is acknowledged that cannot be brought to the disk")
	s.Probe()
	require.True(t, s.Failing(), "a segment that cannot be synced is none")
	disk.set(false)
	require.NoError(t, s.Append([]byte("second")))
	require.False(t, s.Failing())
	live := drain(t, s, 10)
	require.Contains(t, live, "first")
	require.Contains(t, live, "second")
	require.NoError(t, s.Close())
}

func TestTwoProcessesCannotShareASpool(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, small)
	_, err := spool.Open(dir, small)
	require.ErrorContains(t, err, "in use by another process")
	require.NoError(t, s.Close())
	s = open(t, dir, small)
	require.NoError(t, s.Close())
}

func TestASpoolReportsThatItIsFull(t *testing.T) {
	s := open(t, t.TempDir(), spool.Options{MaxBytes: 100, Sync: time.Hour})
	require.False(t, s.Full())
	require.NoError(t, s.Append([]byte(strings.Repeat("a", 100))))
	require.True(t, s.Full())
	require.NoError(t, s.Append([]byte("what was under way")), "which has its place")
	drain(t, s, 10)
	require.False(t, s.Full())
	require.NoError(t, s.Close())
}

func TestARecordThatIsTooLargeIsRefusedAlone(t *testing.T) {
	s := open(t, t.TempDir(), small)
	require.Error(t, s.Append(nil))
	require.Error(t, s.Append(make([]byte, spool.MaxRecord+1)))
	require.NoError(t, s.Append(make([]byte, spool.MaxRecord)))
	require.Len(t, drain(t, s, 10), 1)
	require.NoError(t, s.Close())
}

func TestASpoolThatCannotBeWrittenRecovers(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Log("the folder is renamed, which also affects root")
	}
	dir := filepath.Join(t.TempDir(), "spool")
	s := open(t, dir, spool.Options{MaxBytes: 1 << 20, SegmentBytes: 64, Sync: time.Hour})
	require.NoError(t, s.Append(make([]byte, 64))) // the segment is full
	require.NoError(t, os.Rename(dir, dir+".away"))
	require.Error(t, s.Append([]byte("lost")))
	require.True(t, s.Failing())
	s.Probe()
	require.True(t, s.Failing())
	require.NoError(t, os.Rename(dir+".away", dir))
	s.Probe()
	require.False(t, s.Failing())
	require.NoError(t, s.Append([]byte("kept")))
	require.Equal(t, "kept", drain(t, s, 10)[1])
	require.NoError(t, s.Close())
}

// TestACrashAtAnyByteLosesNothingThatWasWritten appends records, cuts the last segment
// at any byte, with or without garbage after the cut, and opens the spool again. Exactly the
// records that were complete before the cut are read, in order.
func TestACrashAtAnyByteLosesNothingThatWasWritten(t *testing.T) {
	root := t.TempDir()
	runs := 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		dir := filepath.Join(root, fmt.Sprint(runs))
		s := open(t, dir, spool.Options{
			MaxBytes: 1 << 30, SegmentBytes: int64(rapid.IntRange(64, 600).Draw(t, "segment")), Sync: time.Hour,
		})
		var records []string
		var ends []string // segment and size after each
		for i := range rapid.IntRange(0, 40).Draw(t, "records") {
			record := fmt.Sprintf("%d:%s", i, strings.Repeat("x", rapid.IntRange(0, 90).Draw(t, "length")))
			require.NoError(t, s.Append([]byte(record)))
			records = append(records, record)
			files := segments(t, dir)
			info, err := os.Stat(files[len(files)-1])
			require.NoError(t, err)
			ends = append(ends, fmt.Sprintf("%s %020d", files[len(files)-1], info.Size()))
		}
		done := 0
		if len(records) > 0 {
			if done = rapid.IntRange(0, len(records)).Draw(t, "done"); done > 0 {
				readSome(t, s, done)
			}
		}
		// Simulate a crash of the process: only the files remain.
		crashed := dir + ".crashed"
		require.NoError(t, os.CopyFS(crashed, os.DirFS(dir)))
		files := segments(t, crashed)
		last := files[len(files)-1]
		info, err := os.Stat(last)
		require.NoError(t, err)
		cut := rapid.Int64Range(0, info.Size()).Draw(t, "cut")
		require.NoError(t, os.Truncate(last, cut))
		if garbage := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "garbage"); len(garbage) > 0 {
			f, err := os.OpenFile(last, os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = f.Write(garbage)
			require.NoError(t, errors.Join(err, f.Close()))
		}
		require.NoError(t, s.Close())

		var want []string
		limit := fmt.Sprintf("%s %020d", filepath.Join(dir, filepath.Base(last)), cut)
		for i := done; i < len(records); i++ {
			if ends[i] <= limit {
				want = append(want, records[i])
			}
		}
		again := open(t, crashed, small)
		require.NoError(t, again.Append([]byte("after")))
		got := drain(t, again, 1000)
		// Records that were done shortly before the crash may be read again.
		require.GreaterOrEqual(t, len(got), len(want)+1)
		require.Equal(t, append(want, "after"), got[len(got)-len(want)-1:])
		require.NoError(t, again.Close())
	})
}

// readSome reads exactly n records and marks them as done.
func readSome(t T, s *spool.Spool, n int) {
	t.Helper()
	for n > 0 {
		b, err := s.Next(context.Background(), n, 0)
		require.NoError(t, err)
		n -= len(b.Records)
		require.NoError(t, s.Done(b))
	}
}

// FuzzOpen checks that a spool opens and works with any content of its files.
func FuzzOpen(f *testing.F) {
	f.Add([]byte("LGSPOOL1\x01\x00\x00\x00\x00\x00\x00\x00"), []byte{})
	f.Add(
		[]byte("LGSPOOL1\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00a"), []byte("12345678901234567890"),
	)
	f.Fuzz(func(t *testing.T, segment, position []byte) {
		dir := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%020d.seg", 1)), segment, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "done"), position, 0o600))
		s := open(t, dir, small)
		require.NoError(t, s.Append([]byte("mine")))
		got := drain(t, s, 100)
		require.Equal(t, "mine", got[len(got)-1])
		require.NoError(t, s.Close())
	})
}

func BenchmarkAppend(b *testing.B) {
	record := make([]byte, 250)
	for _, writers := range []int{1, 16} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := open(b, b.TempDir(), spool.Options{MaxBytes: 1 << 40, Sync: time.Second})
			b.SetParallelism(writers)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if err := s.Append(record); err != nil {
						panic(err)
					}
				}
			})
			require.NoError(b, s.Close())
		})
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "spool-")
	if err != nil {
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := spool.Open(dir, spool.Options{MaxBytes: 1 << 20, Sync: time.Second})
	if err != nil {
		return
	}
	_ = s.Append([]byte("who did what")) // the record is in the file
	b, err := s.Next(context.Background(), 100, 0)
	if err != nil {
		return
	}
	fmt.Println(string(b.Records[0]))
	_ = s.Done(b) // Next does not return it again
	fmt.Println(s.Close())
	// Output:
	// who did what
	// <nil>
}

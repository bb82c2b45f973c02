package jars

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/embedded/install"
)

// known is a set whose installation does not succeed in these tests.
var known = Set{Name: "known", Title: "Known Software", POM: "<project/>", Size: "1 kB", Sums: `
22d1d4316c4ec13a68b559e98c8256d69071593731da96136640f864fa14fad8  first-1.0.jar
65ceb669d88f63306c680f8088bbf765bbca72d288a61a03703000076c3d3f56  second-2.0.jar
`}

func TestJavasVersionIsReadOffWhatItPrints(t *testing.T) {
	for text, want := range map[string]int{
		"openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime": 17,
		"java version \"1.8.0_411\"":                              1,
		"openjdk version \"25\" 2025-09-16":                       25,
		"openjdk version \"26-ea\" 2026-03-17":                    26,
		"Error: no runtime":                                       0,
	} {
		require.Equal(t, want, javaVersion(text), text)
	}
}

func TestAMissingJavaOrMavenIsExplained(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	t.Setenv("JAVA_HOME", "")
	t.Setenv(install.CacheVariable, t.TempDir())
	_, err := known.Install(t.Context(), nil)
	require.ErrorContains(t, err, "needs Java 17 or later")
	require.ErrorContains(t, err, "apt install openjdk-17-jre-headless")

	java := filepath.Join(bin, "java")
	require.NoError(t, os.WriteFile(java, []byte("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n"), 0o755))
	_, err = known.Install(t.Context(), nil)
	require.ErrorContains(t, err, "is version 11")

	require.NoError(t, os.WriteFile(java, []byte("#!/bin/sh\necho 'openjdk version \"21.0.2\"' >&2\n"), 0o755))
	_, err = known.Install(t.Context(), nil)
	require.ErrorContains(t, err, "apt install maven")
}

func TestJarsThatAreNotThoseKnownAreRefused(t *testing.T) {
	bin, cache := t.TempDir(), t.TempDir()
	t.Setenv("JAVA_HOME", "")
	t.Setenv(install.CacheVariable, cache)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	require.NoError(t, os.WriteFile(
		filepath.Join(bin, "java"), []byte("#!/bin/sh\necho 'openjdk version \"21.0.2\"' >&2\n"), 0o755,
	))
	// A fake Maven that creates every jar with wrong content.
	mvn := "#!/bin/sh\nfor a; do case $a in -DoutputDirectory=*) d=${a#*=};; esac; done\n"
	for _, name := range known.jarNames() {
		mvn += "echo other > $d/" + name + "\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(bin, "mvn"), []byte(mvn), 0o755))
	_, err := known.Install(t.Context(), nil)
	require.ErrorContains(t, err, "is not the file that it should be")
	_, err = known.Install(t.Context(), nil)
	require.Error(t, err, "what was refused is not taken for whole")
}

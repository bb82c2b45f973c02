package config

import "strings"

// EmbeddedModel is a model that runs on this machine, as an embedded engine.
type EmbeddedModel struct {
	Name       string
	Dimensions int
	// QueryPrefix and PassagePrefix are prepended to texts, as in the training of the model.
	QueryPrefix, PassagePrefix string
}

// EmbeddedModels are the models that --embedder can select by name. The first is the default.
var EmbeddedModels = []EmbeddedModel{
	{Name: "all-MiniLM-L6-v2", Dimensions: 384},
	{Name: "multilingual-e5-small", Dimensions: 384, QueryPrefix: "query: ", PassagePrefix: "passage: "},
}

// FindEmbeddedModel returns the model with a name, the default for an empty one. It returns false if there is none.
func FindEmbeddedModel(name string) (EmbeddedModel, bool) {
	for i, m := range EmbeddedModels {
		if m.Name == name || i == 0 && name == "" {
			return m, true
		}
	}
	return EmbeddedModel{}, false
}

// embeddedNames lists the names of the embedded models for messages.
func embeddedNames() string {
	names := make([]string, len(EmbeddedModels))
	for i, m := range EmbeddedModels {
		names[i] = m.Name
	}
	return strings.Join(names, ", ")
}

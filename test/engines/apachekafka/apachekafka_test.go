package apachekafka

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestAClusterIDThatBeginsWithADashIsNotTakenForAFlag(t *testing.T) {
	args := formatArguments(uuid.UUID{0xf8}, []string{"SCRAM-SHA-256=[name=u,password=p]"})
	require.Equal(t, []string{
		"format", "--cluster-id=-AAAAAAAAAAAAAAAAAAAAA", "-c", "server.properties",
		"--add-scram", "SCRAM-SHA-256=[name=u,password=p]",
	}, args)
}

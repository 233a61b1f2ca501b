package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// adminInGo builds a program of testdata/admin, which is a module of its own, and runs it.
func adminInGo(name string) adminCommand {
	return func(t *testing.T, args ...string) *exec.Cmd {
		bin := filepath.Join(t.TempDir(), name)
		build := exec.Command("go", "build", "-o", bin, "./"+name)
		build.Dir = filepath.Join("testdata", "admin")
		build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
		if out, err := build.CombinedOutput(); err != nil {
			skipOrFail(t, "needs "+name+" from the Go module proxy: "+err.Error()+"\n"+string(out))
		}
		return exec.Command(bin, args...)
	}
}

// TestAdminClientOfFranz is a round through franz-go's admin client, kadm.
func TestAdminClientOfFranz(t *testing.T) { runAdminRound(t, "kadm", adminInGo("kadm")) }

// TestAdminClientOfSarama is a round through Sarama's ClusterAdmin.
func TestAdminClientOfSarama(t *testing.T) { runAdminRound(t, "sarama", adminInGo("sarama")) }

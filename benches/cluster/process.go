package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// pair is a self-signed certificate, in files for servers.
type pair struct {
	folder, certificate, key string
	pem                      []byte
}

func makePair() pair {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der := must(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))
	p := pair{folder: must(os.MkdirTemp("", "trainmesh-bench-"))}
	p.certificate, p.key = filepath.Join(p.folder, "tls.crt"), filepath.Join(p.folder, "tls.key")
	p.pem = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	private := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(key))})
	check(os.WriteFile(p.certificate, p.pem, 0o600))
	check(os.WriteFile(p.key, private, 0o600))
	return p
}

// client returns the TLS configuration of a client that trusts the pair.
func (p pair) client() *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(p.pem)
	return &tls.Config{RootCAs: roots}
}

// process is a server that has reported its addresses.
type process struct {
	command        *exec.Cmd
	began          time.Time
	address, admin string
}

func webhookArguments(pair pair, o options) []string {
	return []string{"webhook", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-format", "json",
		"--config", o.config, "--tls-cert", pair.certificate, "--tls-key", pair.key, "--drain", "0s"}
}

// start runs a program, with an optional prefix, and waits for its first line.
func start(prefix, environment []string, program string, arguments ...string) *process {
	line := append(append(prefix, program), arguments...)
	command := exec.Command(line[0], line[1:]...)
	command.Env = append(os.Environ(), environment...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log := must(command.StderrPipe())
	p := &process{command: command, began: time.Now()}
	check(command.Start())
	reader := bufio.NewReader(log)
	var first struct{ Listen, Admin string }
	text := must(reader.ReadBytes('\n'))
	if err := json.Unmarshal(text, &first); err != nil {
		panic(fmt.Sprintf("%s: %s", program, text))
	}
	go io.Copy(os.Stderr, reader)
	p.address, p.admin = first.Listen, first.Admin
	return p
}

// ready waits until the server is ready, and returns the time since its start.
func (p *process) ready() time.Duration {
	for ; ; time.Sleep(time.Millisecond) {
		answer, err := http.Get("http://" + p.admin + "/readyz")
		if err == nil {
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return time.Since(p.began)
			}
		}
		if time.Since(p.began) > 10*time.Second {
			panic("not ready in 10 s")
		}
	}
}

// memory returns the peak resident memory of the process, in MiB.
func (p *process) memory() float64 { return p.status("VmHWM") }

// resident returns its current resident memory, in MiB.
func (p *process) resident() float64 { return p.status("VmRSS") }

func (p *process) status(field string) (mib float64) {
	text := string(must(os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))))
	_, rest, _ := strings.Cut(text, field+":")
	must(fmt.Sscan(rest, &mib))
	return mib / 1024
}

func (p *process) end() {
	// The process may have exited already.
	_ = p.command.Process.Signal(syscall.SIGTERM)
	_ = p.command.Wait()
}

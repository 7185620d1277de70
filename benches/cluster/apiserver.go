package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Number of concurrent requests: as many as an apiserver on a small machine serves without queueing.
const atOnce = 32

type object = map[string]any

// apiserver is a client with the credentials of KUBECONFIG.
type apiserver struct {
	server string
	client *http.Client
}

func connect() *apiserver {
	var kubeconfig struct {
		Clusters []struct {
			Cluster struct {
				Server string `json:"server"`
				CA     []byte `json:"certificate-authority-data"`
			} `json:"cluster"`
		} `json:"clusters"`
		Users []struct {
			User struct {
				Certificate []byte `json:"client-certificate-data"`
				Key         []byte `json:"client-key-data"`
			} `json:"user"`
		} `json:"users"`
	}
	text := must(exec.Command("kubectl", "config", "view", "--raw", "--output=json").Output())
	check(json.Unmarshal(text, &kubeconfig))
	cluster, user := kubeconfig.Clusters[0].Cluster, kubeconfig.Users[0].User
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cluster.CA)
	config := &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{must(tls.X509KeyPair(user.Certificate, user.Key))}}
	transport := &http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: atOnce}
	return &apiserver{server: cluster.Server, client: &http.Client{Transport: transport}}
}

// request sends one request and reads the complete response.
func (a *apiserver) request(method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequest(method, a.server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	kind := "application/json"
	if method == "PATCH" {
		kind = "application/merge-patch+json"
	}
	request.Header.Set("Content-Type", kind)
	answer, err := a.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, text)
	}
	return text, err
}

// watch opens a stream of the events of objects.
func (a *apiserver) watch(path string) io.ReadCloser {
	answer := must(a.client.Get(a.server + path + "?watch=true"))
	if answer.StatusCode != http.StatusOK {
		panic(path + ": " + answer.Status)
	}
	return answer.Body
}

func (a *apiserver) create(path string, made object) {
	must(a.request("POST", path, must(json.Marshal(made))))
}

// failures returns the number of requests of all clients that were answered with 429 or a status from 500.
func (a *apiserver) failures() (sum float64) {
	for line := range strings.Lines(string(must(a.request("GET", "/metrics", nil)))) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		_, code, _ := strings.Cut(series, `code="`)
		if strings.HasPrefix(series, "apiserver_request_total{") && (strings.HasPrefix(code, "429") || strings.HasPrefix(code, "5")) {
			var number float64
			must(fmt.Sscan(value, &number))
			sum += number
		}
	}
	return sum
}

// awaitAccount waits for the service account that every pod of a new namespace needs, which a controller creates.
func (a *apiserver) awaitAccount(namespace string) {
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, err := a.request("GET", "/api/v1/namespaces/"+namespace+"/serviceaccounts/default", nil)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			check(err)
		}
	}
}

// each calls do for the numbers below count, some of them concurrently.
func each(count int, do func(number int)) {
	var group sync.WaitGroup
	next := make(chan int)
	for range atOnce {
		group.Go(func() {
			for number := range next {
				do(number)
			}
		})
	}
	for number := range count {
		next <- number
	}
	close(next)
	group.Wait()
}

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
)

type object = map[string]any

// apiserver is a client with the rights of KUBECONFIG's user.
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
	return &apiserver{server: cluster.Server, client: &http.Client{Transport: &http.Transport{TLSClientConfig: config}}}
}

// ask sends one request and reads the whole answer.
func (a *apiserver) ask(method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequest(method, a.server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
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

func (a *apiserver) create(path string, made object) {
	must(a.ask("POST", path, must(json.Marshal(made))))
}

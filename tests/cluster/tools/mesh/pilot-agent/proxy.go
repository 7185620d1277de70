package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

const (
	adminPort  = 15000
	statusPort = 15020
	readyPort  = 15021
	envoyPath  = "/usr/local/bin/envoy"
)

// The readiness port is a listener of Envoy that forwards to the status server, as in
// Istio: it answers only when Envoy really serves. The configuration needs no file, so
// the image's file system can be read-only.
const bootstrap = `
node: {id: trainmesh-test, cluster: trainmesh-test}
admin: {address: {socket_address: {address: 127.0.0.1, port_value: %d}}}
static_resources:
  clusters:
  - name: agent
    type: STATIC
    connect_timeout: 1s
    load_assignment:
      cluster_name: agent
      endpoints: [{lb_endpoints: [{endpoint: {address: {socket_address: {address: 127.0.0.1, port_value: %d}}}}]}]
%s  listeners:
  - address: {socket_address: {address: 0.0.0.0, port_value: 15021}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: agent
          route_config:
            virtual_hosts:
            - {name: backend, domains: ["*"], routes: [{match: {prefix: /healthz/ready}, route: {cluster: agent}}]}
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
%s`

// settings are the fields of PROXY_CONFIG (the merged proxy configuration that the
// injector writes as JSON) that this program supports.
type settings struct {
	ProxyAdminPort           int
	StatusPort               int
	TerminationDrainDuration string
	drain                    time.Duration
}

func readSettings() (settings, error) {
	result := settings{ProxyAdminPort: adminPort, StatusPort: statusPort, drain: 5 * time.Second}
	if text := os.Getenv("PROXY_CONFIG"); text != "" {
		if err := json.Unmarshal([]byte(text), &result); err != nil {
			return result, fmt.Errorf("PROXY_CONFIG: %w", err)
		}
	}
	if result.TerminationDrainDuration != "" {
		drain, err := time.ParseDuration(result.TerminationDrainDuration)
		if err != nil {
			return result, fmt.Errorf("terminationDrainDuration: %w", err)
		}
		result.drain = drain
	}
	return result, nil
}

// proxy runs Envoy, unless that is disabled, until it exits or is terminated. Like Istio's, it always exits with 0,
// even after a crash of Envoy, which hides a dead proxy.
func proxy() error {
	settings, err := readSettings()
	if err != nil {
		return err
	}
	if err := crash(); err != nil {
		return err
	}
	quit := make(chan struct{}, 1)
	listener, err := net.Listen("tcp", fmt.Sprintf("0.0.0.0:%d", settings.StatusPort))
	if err != nil {
		return err
	}
	go func() { log.Fatal(http.Serve(listener, settings.statusServer(quit))) }()

	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)

	// For tests of what happens before a proxy is ready.
	if text := os.Getenv("TEST_START_DELAY"); text != "" {
		delay, err := time.ParseDuration(text)
		if err != nil {
			return fmt.Errorf("TEST_START_DELAY: %w", err)
		}
		select {
		case <-time.After(delay):
		case <-signals:
			return nil
		case <-quit:
			return nil
		}
	}

	if disabled() {
		select {
		case <-signals:
		case <-quit:
		}
		return nil
	}
	listeners, clusters, err := captureListeners()
	if err != nil {
		return err
	}
	configuration := fmt.Sprintf(bootstrap, settings.ProxyAdminPort, settings.StatusPort, clusters, listeners)
	envoy := exec.Command(envoyPath, "--config-yaml", configuration, "--disable-hot-restart", "--concurrency", "1", "--log-level", "warning")
	envoy.Stdout, envoy.Stderr = os.Stdout, os.Stderr
	if err := envoy.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- envoy.Wait() }()

	select {
	case err := <-ended:
		if err != nil {
			log.Printf("Envoy exited with error: %v", err)
		} else {
			log.Print("Envoy exited normally")
		}
		return nil
	case <-signals:
		log.Printf("Graceful termination period is %v, starting...", settings.drain)
		settings.drainListeners()
		select {
		case <-time.After(settings.drain):
		case <-ended:
			return nil
		}
	case <-quit:
		log.Print("Exit requested, the drain is skipped")
	}
	log.Print("Aborting proxy")
	envoy.Process.Kill()
	<-ended
	return nil
}

// crash makes the first TEST_CRASHES starts fail, for tests of a proxy that restarts.
// The directory outlives the container.
func crash() error {
	text := os.Getenv("TEST_CRASHES")
	if text == "" {
		return nil
	}
	crashes, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("TEST_CRASHES: %w", err)
	}
	const file = "/etc/istio/proxy/test-starts"
	starts, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if len(starts) >= crashes {
		return nil
	}
	if err := os.WriteFile(file, append(starts, '.'), 0o600); err != nil {
		return err
	}
	return fmt.Errorf("crash %d of %d, as configured", len(starts)+1, crashes)
}

// disabled reports whether this agent serves gRPC applications, which need no Envoy.
func disabled() bool { return os.Getenv("DISABLE_ENVOY") == "true" }

func (settings settings) statusServer(quit chan<- struct{}) http.Handler {
	admin := &http.Client{Timeout: time.Second}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz/ready", func(w http.ResponseWriter, _ *http.Request) {
		if disabled() {
			return
		}
		if err := ready(admin, fmt.Sprintf("http://127.0.0.1:%d/ready", settings.ProxyAdminPort)); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/quitquitquit", func(w http.ResponseWriter, r *http.Request) {
		if refused(w, r) {
			return
		}
		w.Write([]byte("OK"))
		log.Print("handling /quitquitquit, notifying pilot-agent to exit")
		select {
		case quit <- struct{}{}:
		default: // already notified
		}
	})
	mux.HandleFunc("/drain", func(w http.ResponseWriter, r *http.Request) {
		if refused(w, r) {
			return
		}
		settings.drainListeners()
		w.Write([]byte("OK"))
	})
	return mux
}

// refused rejects requests from outside of this pod, and methods other than POST.
func refused(w http.ResponseWriter, r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || !net.ParseIP(host).IsLoopback() {
		http.Error(w, "Only requests from localhost are allowed", http.StatusForbidden)
		return true
	}
	if r.Method != http.MethodPost {
		http.Error(w, "Method not allowed", http.StatusMethodNotAllowed)
		return true
	}
	return false
}

func (settings settings) drainListeners() {
	client := &http.Client{Timeout: time.Second}
	answer, err := client.Post(fmt.Sprintf("http://127.0.0.1:%d/drain_listeners?graceful", settings.ProxyAdminPort), "text/plain", nil)
	if err != nil {
		log.Printf("drain: %v", err)
		return
	}
	answer.Body.Close()
}

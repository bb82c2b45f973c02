// Package mqtt tests `livegraph mqtt` with the MQTT broker Mosquitto (Debian: mosquitto), in make test-all also with an
// edge node of Sparkplug B of the library pysparkplug.
package mqtt

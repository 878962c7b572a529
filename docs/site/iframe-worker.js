// SPDX-License-Identifier: MIT
// Search without a server: from `file:` browsers start no Worker, so its script runs in a hidden frame. MkDocs'
// theme loads a script of this name from another server when it is not given one.
"use strict";

if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      this.ready = new Promise((resolve) => { inside.loaded = resolve; });
      inside.document.open();
      inside.document.write(`<!doctype html><script>
        postMessage = parent.postMessage.bind(parent);
        importScripts = (...urls) => urls.reduce((done, url) => done.then(() => new Promise((resolve, reject) => {
          const script = document.createElement("script");
          Object.assign(script, {src: url, onload: resolve, onerror: reject});
          document.body.appendChild(script);
        })), Promise.resolve());
      </script><body><script src="${url}" onload="loaded()"></script></body>`);
      inside.document.close();
      this.listener = (event) => {
        if (event.source !== inside) return;
        const message = new MessageEvent("message", {data: event.data});
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      };
      addEventListener("message", this.listener);
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", {data})));
    }

    terminate() {
      this.frame.remove();
      removeEventListener("message", this.listener);
    }
  };
}

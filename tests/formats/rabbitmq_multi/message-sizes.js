{
  "message-sizes-large": {
    "data": {
      "500000.0": {
        "send-bytes-rate": 4149531.325256567,
        "recv-msg-rate": 8.447260197843725,
        "avg-latency": 624993,
        "send-msg-rate": 8.299062650513134,
        "recv-bytes-rate": 4223630.098921862,
        "samples": [
          {
            "elapsed": 3378,
            "send-bytes-rate": 148016.57785671996,
            "recv-msg-rate": 0.0,
            "send-msg-rate": 0.2960331557134399,
            "recv-bytes-rate": 0.0
          },
          {
            "elapsed": 4440,
            "send-bytes-rate": 4708097.928436912,
            "recv-msg-rate": 6.5913370998116765,
            "max-latency": 651700,
            "min-latency": 302560,
            "avg-latency": 504415,
            "send-msg-rate": 9.416195856873824,
            "recv-bytes-rate": 3295668.5499058384
          },
          {
            "elapsed": 5482,
            "send-bytes-rate": 5278310.94049904,
            "recv-msg-rate": 10.556621880998081,
            "max-latency": 588713,
            "min-latency": 394853,
            "avg-latency": 484197,
            "send-msg-rate": 10.556621880998081,
            "recv-bytes-rate": 5278310.94049904
          },
          {
            "elapsed": 6488,
            "send-bytes-rate": 3479125.248508946,
            "recv-msg-rate": 5.964214711729622,
            "max-latency": 768391,
            "min-latency": 442553,
            "avg-latency": 572967,
            "send-msg-rate": 6.958250497017892,
            "recv-bytes-rate": 2982107.355864811
          },
          {
            "elapsed": 7497,
            "send-bytes-rate": 2973240.8325074334,
            "recv-msg-rate": 7.928642220019822,
            "max-latency": 836930,
            "min-latency": 707704,
            "avg-latency": 764515,
            "send-msg-rate": 5.946481665014867,
            "recv-bytes-rate": 3964321.110009911
          },
          {
            "elapsed": 8554,
            "send-bytes-rate": 4730368.968779565,
            "recv-msg-rate": 9.460737937559129,
            "max-latency": 685192,
            "min-latency": 438373,
            "avg-latency": 551532,
            "send-msg-rate": 9.460737937559129,
            "recv-bytes-rate": 4730368.968779565
          }
        ]
      }
    }
  }
}

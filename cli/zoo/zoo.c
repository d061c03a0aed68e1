/* SPDX-License-Identifier: Apache-2.0 */
/* zoo.c - the list of networks. A network is one row here and one file beside it. */
#include "zoo/zoo.h"

/* parameters: trained numbers, biases of folded normalisation counted once; flops: of one image or sequence, a
 * multiplication and an addition counted as two. */
const zoo_row cli_zoo_rows[] = {
    {"lenet5", "LeNet-5, for quick trials", "input f32[N,1,32,32]", 61706, 0.839e6, zoo_lenet5},
    {"squeezenet1_1", "SqueezeNet 1.1", "input f32[N,3,224,224]", 1235496, 0.701e9, zoo_squeezenet1_1},
    {"shufflenet_v2", "ShuffleNetV2, width 1.0", "input f32[N,3,224,224]", 2270514, 0.290e9, zoo_shufflenet_v2},
    {"mobilenet_v2", "MobileNetV2, width 1.0", "input f32[N,3,224,224]", 3487816, 0.602e9, zoo_mobilenet_v2},
    {"mobilenet_v3_large", "MobileNetV3-Large, width 1.0", "input f32[N,3,224,224]", 5470832, 0.433e9,
     zoo_mobilenet_v3_large},
    {"efficientnet_b0", "EfficientNet-B0", "input f32[N,3,224,224]", 5267540, 0.775e9, zoo_efficientnet_b0},
    {"resnet18", "ResNet-18", "input f32[N,3,224,224]", 11684712, 3.63e9, zoo_resnet18},
    {"resnet50", "ResNet-50 v1.5, batch normalisation as nodes", "input f32[N,3,224,224]", 25557032, 8.18e9,
     zoo_resnet50},
    {"densenet121", "DenseNet-121", "input f32[N,3,224,224]", 7971368, 5.69e9, zoo_densenet121},
    {"facenet", "FaceNet, an Inception-ResNet-v1", "input f32[N,3,160,160]", 23468336, 2.84e9, zoo_facenet},
    {"facenet_planted", "FaceNet with needless transposes and normalisations", "input f32[N,3,160,160]", 23482624,
     2.84e9, zoo_facenet_planted},
    {"yolo", "a detector like YOLOv8n", "images f32[N,3,320,320]", 3151904, 2.19e9, zoo_yolo},
    {"unet32", "U-Net of 32 base channels", "input f32[N,3,256,256]", 7760097, 24.17e9, zoo_unet32},
    {"vit_b_16", "Vision Transformer B/16", "input f32[N,3,224,224]", 86567656, 35.2e9, zoo_vit_b_16},
    {"bert_base", "BERT base, 128 tokens", "input_ids, attention_mask, token_type_ids i64[N,128]", 109482240, 22.4e9,
     zoo_bert_base},
    {"encoder6", "6 transformer layers, width 384, 12 heads, 128 tokens", "input f32[N,128,384]", 10646784, 2.88e9,
     zoo_encoder6},
    {"decoder", "a language model like Llama, with caches", "input_ids, attention_mask i64[N,*], past_key_values",
     12587904, 0.0221e9, zoo_decoder_build},
    {"lstm2", "2 LSTM layers of 256, 64 steps", "input f32[N,64,128]", 942160, 0.120e9, zoo_lstm2},
    {0},
};

const zoo_decoder cli_zoo_decoder = {
    .layers = 6, .width = 384, .heads = 6, .kv_heads = 2, .hidden = 1024, .vocabulary = 4096, .positions = 2048};

hone_status cli_zoo_build(hone_context *context, const zoo_row *row, const zoo_options *options,
                          hone_graph **out_graph) {
  zoo_net net = {.context = context, .options = *options, .random = options->seed};
  if (net.options.decoder.layers == 0) net.options.decoder = cli_zoo_decoder;
  *out_graph = NULL;
  net.status = hone_graph_create(context, row->name, &net.graph);
  if (net.status == HONE_OK) row->build(&net);
  if (net.status != HONE_OK) {
    hone_graph_destroy(net.graph);
    return net.status;
  }
  *out_graph = net.graph;
  return HONE_OK;
}
